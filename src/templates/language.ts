/** The template language: read once by `compile`, rendered any number of times. docs/templates.md tells its rules. */
import { Instruction, type Name, parse, type Step } from './parse.ts'

export const caps = {
  /** Turns of all loops together; nested loops multiply. */
  iterations: 5_000,
  /** Characters that loops produce, all together. */
  loopCharacters: 2_000_000,
  /** Characters of the whole part. */
  characters: 10_000_000,
  /** Tags and the names looked at for them: bounds loops that produce nothing, which the other caps do not see. */
  steps: 1_000_000,
} as const

export type Cap = keyof typeof caps

/** A cap was passed. The one error that rendering throws. */
export class CapPassed extends Error {
  readonly cap: Cap

  constructor(cap: Cap) {
    super(`the template passed its cap of ${caps[cap]} ${cap}`)
    this.name = 'CapPassed'
    this.cap = cap
  }
}

export type TemplateVariables = Record<string, unknown>

export type CompiledTemplate = {
  /** Names that have to be supplied. */
  required: readonly string[]
  /** Those of them that are not there. */
  missing(variables: TemplateVariables): string[]
  render(variables: TemplateVariables): string
  /** How much of it a cache holds, in about characters. */
  weight: number
}

/** One turn of a loop, or the variables themselves at the bottom. */
type Frame = {
  /** Where names are looked up; null for an item that has none. */
  own: TemplateVariables | null
  item: unknown
  items: readonly unknown[]
  index: number
  outer: Frame | null
  /** The nearest frame further out that has names. */
  below: Frame | null
}

const isObject = (value: unknown): value is TemplateVariables =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const walk = (start: unknown, path: readonly string[]): unknown => {
  let value = start
  for (const key of path) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return undefined
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
const escapeHtml = (text: string): string =>
  escapable.test(text) ? text.replace(/[&<>"']/g, (found) => entities[found] as string) : text

const isTruthy = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : Boolean(value))

/** Everything one render holds. */
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
    // Characters of loops that have ended, and how long the text may get before a cap is passed.
    let looped = 0
    let loopBegan = 0
    let most: number = caps.characters
    for (let at = 0; at < steps.length; ) {
      const step = steps[at++] as Step
      out += step.before
      switch (step.act) {
        case Instruction.value:
          out += this.#shown(this.#resolve(step.name))
          break
        case Instruction.if:
          if (!this.#holds(step.name)) at = step.to
          break
        case Instruction.unless:
          if (this.#holds(step.name)) at = step.to
          break
        case Instruction.jump:
          at = step.to
          break
        case Instruction.each: {
          const outermost = this.#frame.outer === null
          if (!this.#enter(this.#resolve(step.name))) at = step.to
          else if (outermost) {
            loopBegan = out.length
            most = Math.min(caps.characters, loopBegan + caps.loopCharacters - looped)
          }
          break
        }
        case Instruction.next:
          if (this.#turn()) at = step.to
          else if (this.#frame.outer === null) {
            if (out.length > most) throw this.#tooLong(out.length)
            looped += out.length - loopBegan
            most = caps.characters
          }
      }
      if (out.length > most) throw this.#tooLong(out.length)
      if (++this.#work > caps.steps) throw new CapPassed('steps')
    }
    return out
  }

  #tooLong(length: number): CapPassed {
    return new CapPassed(length > caps.characters ? 'characters' : 'loopCharacters')
  }

  #shown(value: unknown): string {
    if (typeof value === 'string') return this.#html ? escapeHtml(value) : value
    if (typeof value === 'number') return Number.isFinite(value) ? String(value) : ''
    return typeof value === 'boolean' ? String(value) : ''
  }

  #holds(name: Name): boolean {
    return name.kind === 'reserved' || isTruthy(this.#resolve(name))
  }

  /** The value of a name; undefined for what is not there. The nearest frame that has it decides. */
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

  #enter(items: unknown): boolean {
    if (!Array.isArray(items) || items.length === 0) return false
    const outer = this.#frame
    const below = outer.own === null ? outer.below : outer
    this.#frame = { own: null, item: undefined, items, index: -1, outer, below }
    return this.#turn()
  }

  /** On to the next item, or out of the loop after the last. */
  #turn(): boolean {
    const frame = this.#frame
    if (++frame.index >= frame.items.length) {
      this.#frame = frame.outer as Frame
      return false
    }
    if (++this.#iterations > caps.iterations) throw new CapPassed('iterations')
    frame.item = frame.items[frame.index]
    frame.own = isObject(frame.item) ? frame.item : null
    return true
  }
}

/** A step holds an object of its own and a name beside its text. */
const stepWeight = 100

export type CompileOptions = {
  /** Values are escaped on their way in. */
  html: boolean
  /** What is left where the unsubscribe link belongs; the tag itself unless given. */
  link?: string
}

export const compile = (source: string, { html, link }: CompileOptions): CompiledTemplate => {
  const { steps, required } = parse(source, link)
  const isMissing = (variables: TemplateVariables, { full, first, rest }: Name): boolean =>
    (Object.hasOwn(variables, full) ? variables[full] : walk(variables, [first, ...rest])) === undefined
  return {
    required: required.map(({ full }) => full),
    missing: (variables) => required.filter((name) => isMissing(variables, name)).map(({ full }) => full),
    render: (variables) => new Rendering(steps, html, variables).run(),
    weight: source.length + steps.length * stepWeight,
  }
}
