/** The template language. `compile` parses a template once for any number of renders. See docs/templates.md. */
import { Instruction, type Name, parse, type Step } from './parse.ts'

export const caps = {
  /** Iterations of all loops together. Nested loops multiply. */
  iterations: 5_000,
  /** Characters that all loops together produce. */
  loopCharacters: 2_000_000,
  /** Characters of the whole rendered part. */
  characters: 10_000_000,
  /** Tags and name lookups. Limits loops that produce no output, which the other caps do not cover. */
  steps: 1_000_000,
} as const

export type Cap = keyof typeof caps

/** The only error that rendering throws. */
export class CapFault extends Error {
  readonly cap: Cap

  constructor(cap: Cap) {
    super(`the template exceeded its cap of ${caps[cap]} ${cap}`)
    this.name = 'CapFault'
    this.cap = cap
  }
}

export type TemplateVariables = Record<string, unknown>

export type CompiledTemplate = {
  required: readonly string[]
  missing(variables: TemplateVariables): string[]
  render(variables: TemplateVariables): string
  /** Whether it shows the unsubscribe link outside of every block. */
  hasLink: boolean
  /** Its approximate size in a cache, in characters. */
  weight: number
}

/** One iteration of a loop. The outermost frame contains the variables themselves. */
type Frame = {
  /** The names of this frame; null for an item that is not an object. */
  own: TemplateVariables | null
  item: unknown
  items: readonly unknown[]
  index: number
  outer: Frame | null
  /** The nearest outer frame that has names. */
  below: Frame | null
}

export const isVariables = (value: unknown): value is TemplateVariables =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const walk = (start: unknown, path: readonly string[]): unknown => {
  let value = start
  for (const key of path) {
    if (!isVariables(value) || !Object.hasOwn(value, key)) return undefined
    value = value[key]
  }
  return value
}

const escapable = /[&<>"']/
const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
export const escapeHtml = (text: string): string =>
  escapable.test(text) ? text.replace(/[&<>"']/g, (found) => entities[found] as string) : text

const isTruthy = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : Boolean(value))

class Rendering {
  readonly #steps: readonly Step[]
  readonly #html: boolean
  #frame: Frame
  #iterations = 0
  #work = 0

  constructor(steps: readonly Step[], html: boolean, variables: TemplateVariables) {
    this.#steps = steps
    this.#html = html
    this.#frame = { own: variables, item: undefined, items: [], index: 0, outer: null, below: null }
  }

  run(): string {
    const steps = this.#steps
    let out = ''
    // The characters of completed loops, where the current outermost loop starts, and the length that exceeds a cap.
    let loopCharacters = 0
    let loopStart = 0
    let maxLength: number = caps.characters
    for (let at = 0; at < steps.length; ) {
      const step = steps[at++] as Step
      out += step.before
      switch (step.act) {
        case Instruction.value:
          out += this.#format(this.#resolve(step.name))
          break
        case Instruction.if:
          if (!this.#isTrue(step.name)) at = step.to
          break
        case Instruction.unless:
          if (this.#isTrue(step.name)) at = step.to
          break
        case Instruction.jump:
          at = step.to
          break
        case Instruction.each: {
          const outermost = this.#frame.outer === null
          if (!this.#enterLoop(this.#resolve(step.name))) at = step.to
          else if (outermost) {
            loopStart = out.length
            maxLength = Math.min(caps.characters, loopStart + caps.loopCharacters - loopCharacters)
          }
          break
        }
        case Instruction.next:
          if (this.#nextItem()) at = step.to
          else if (this.#frame.outer === null) {
            if (out.length > maxLength) throw this.#tooLong(out.length)
            loopCharacters += out.length - loopStart
            maxLength = caps.characters
          }
      }
      if (out.length > maxLength) throw this.#tooLong(out.length)
      if (++this.#work > caps.steps) throw new CapFault('steps')
    }
    return out
  }

  #tooLong(length: number): CapFault {
    return new CapFault(length > caps.characters ? 'characters' : 'loopCharacters')
  }

  #format(value: unknown): string {
    if (typeof value === 'string') return this.#html ? escapeHtml(value) : value
    if (typeof value === 'number') return Number.isFinite(value) ? String(value) : ''
    return typeof value === 'boolean' ? String(value) : ''
  }

  #isTrue(name: Name): boolean {
    return name.kind === 'reserved' || isTruthy(this.#resolve(name))
  }

  /** The value of a name in the nearest frame that has it; undefined when none has. */
  #resolve(name: Name): unknown {
    switch (name.kind) {
      case 'plain': {
        const key = name.full
        for (let frame: Frame | null = this.#frame; frame !== null; frame = frame.below) {
          const { own } = frame
          if (own !== null && Object.hasOwn(own, key)) return own[key]
          this.#work++
        }
        return undefined
      }
      case 'path':
        this.#work += name.rest.length
        for (let frame: Frame | null = this.#frame; frame !== null; frame = frame.below) {
          const { own } = frame
          if (own !== null) {
            if (Object.hasOwn(own, name.full)) return own[name.full]
            if (Object.hasOwn(own, name.first)) return walk(own[name.first], name.rest)
          }
          this.#work++
        }
        return undefined
      case 'item':
        this.#work += name.rest.length
        return walk(this.#frame.item, name.rest)
      case 'index':
        return this.#frame.index
      default:
        return undefined
    }
  }

  #enterLoop(items: unknown): boolean {
    if (!Array.isArray(items) || items.length === 0) return false
    const outer = this.#frame
    const below = outer.own === null ? outer.below : outer
    this.#frame = { own: null, item: undefined, items, index: -1, outer, below }
    return this.#nextItem()
  }

  /** Moves to the next item. After the last one, leaves the loop and returns false. */
  #nextItem(): boolean {
    const frame = this.#frame
    if (++frame.index >= frame.items.length) {
      this.#frame = frame.outer as Frame
      return false
    }
    if (++this.#iterations > caps.iterations) throw new CapFault('iterations')
    frame.item = frame.items[frame.index]
    frame.own = isVariables(frame.item) ? frame.item : null
    return true
  }
}

/** The approximate size of a step's objects, without its text. */
const stepWeight = 100

export type CompileOptions = {
  html: boolean
  /** Replaces the `{{unsubscribe_url}}` tag. By default the tag stays. */
  link?: string
}

export const compile = (source: string, { html, link }: CompileOptions): CompiledTemplate => {
  const { steps, required, hasLink } = parse(source, link)
  const isMissing = (variables: TemplateVariables, { full, first, rest }: Name): boolean =>
    (Object.hasOwn(variables, full) ? variables[full] : walk(variables, [first, ...rest])) === undefined
  return {
    required: required.map(({ full }) => full),
    missing: (variables) => required.filter((name) => isMissing(variables, name)).map(({ full }) => full),
    render: (variables) => new Rendering(steps, html, variables).run(),
    hasLink,
    weight: source.length + steps.length * stepWeight,
  }
}
