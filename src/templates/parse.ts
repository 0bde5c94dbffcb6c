/**
 * Turns a template into a flat list of steps with jumps. Nothing here or in the renderer calls itself, so no depth
 * of nesting can run out of stack, and every character is looked at a fixed number of times.
 */

/** What is read of a source; a string, or in tests something that counts how much of it was looked at. */
export type Text = Pick<string, 'length' | 'indexOf' | 'slice'>

type Block = 'each' | 'if' | 'unless'

export type Name = {
  full: string
  kind: 'plain' | 'path' | 'item' | 'index' | 'reserved' | 'nowhere'
  first: string
  rest: readonly string[]
}

export const Instruction = { text: 0, value: 1, if: 2, unless: 3, jump: 4, each: 5, next: 6 } as const
type Instruction = (typeof Instruction)[keyof typeof Instruction]

export type Step = {
  /** Literal text that comes before whatever the step does. */
  before: string
  act: Instruction
  name: Name
  /** Where to go on when the step does not simply lead to the next one. */
  to: number
}

export type Program = {
  steps: readonly Step[]
  /** Names that must be supplied: read or looped over outside of every block. */
  required: readonly Name[]
}

/** Filled in for each recipient when a message is sent, never from variables. */
const reserved = 'unsubscribe_url'
export const linkPlace = `{{${reserved}}}`

const segment = '[\\p{L}\\p{N}_$][\\p{L}\\p{M}\\p{N}_$-]*'
const namePattern = new RegExp(`^(?:@index|${segment}(?:\\.${segment})*)$`, 'u')
const openPattern = /^#\s*(each|if|unless)\s+(\S+)$/
const closePattern = /^\/\s*(each|if|unless)$/

type Tag = { start: number; end: number } & (
  | { kind: 'value'; name: string }
  | { kind: 'open'; block: Block; name: string }
  | { kind: 'close'; block: Block }
  | { kind: 'else' }
)
type Meaning = Tag extends infer T ? (T extends Tag ? Omit<T, 'start' | 'end'> : never) : never

/** What stands between two pairs of braces; undefined when it is no tag of the language and so plain text. */
const meaningOf = (content: string): Meaning | undefined => {
  const inner = content.trim()
  if (inner === 'else') return { kind: 'else' }
  if (namePattern.test(inner)) return { kind: 'value', name: inner }
  const [, opened, name] = openPattern.exec(inner) ?? []
  if (opened && name && namePattern.test(name)) return { kind: 'open', block: opened as Block, name }
  const [, closed] = closePattern.exec(inner) ?? []
  return closed ? { kind: 'close', block: closed as Block } : undefined
}

/** Every tag, by its innermost braces: `{{{x}}}` is one between two literal braces. */
const tagsIn = (text: Text): Tag[] => {
  const tags: Tag[] = []
  for (let at = 0; ; ) {
    const open = text.indexOf('{{', at)
    const close = open < 0 ? -1 : text.indexOf('}}', open + 2)
    if (close < 0) return tags
    const held = text.slice(open, close)
    const inner = held.lastIndexOf('{{')
    const meaning = meaningOf(held.slice(inner + 2))
    at = close + 2
    if (meaning) tags.push({ ...meaning, start: open + inner, end: at })
  }
}

/** The blocks that are opened and closed. A close ends the nearest open block of its kind; those inside it stay open. */
const pairsIn = (tags: Tag[]): Set<Tag> => {
  const paired = new Set<Tag>()
  const open: Extract<Tag, { kind: 'open' }>[] = []
  const count: Record<Block, number> = { each: 0, if: 0, unless: 0 }
  for (const tag of tags) {
    if (tag.kind === 'open') {
      open.push(tag)
      count[tag.block]++
    } else if (tag.kind === 'close' && count[tag.block] > 0) {
      // Whatever is taken off here is never looked at again, which keeps the search linear.
      for (let last = open.pop(); last; last = open.pop()) {
        count[last.block]--
        if (last.block !== tag.block) continue
        paired.add(last).add(tag)
        break
      }
    }
  }
  return paired
}

const nothing: Name = { full: '', kind: 'nowhere', first: '', rest: [] }

const readName = (full: string, inLoop: boolean): Name => {
  if (full === reserved) return { full, kind: 'reserved', first: full, rest: [] }
  if (full === '@index') return { full, kind: inLoop ? 'index' : 'nowhere', first: full, rest: [] }
  const [first = '', ...rest] = full.split('.')
  if (inLoop && first === 'this') return { full, kind: 'item', first, rest }
  return { full, kind: rest.length > 0 ? 'path' : 'plain', first, rest }
}

type OpenBlock = { block: Block; at: number; elseAt: number }

/** @param link What is left where the reserved name stands. */
export const parse = (text: Text, link = linkPlace): Program => {
  const tags = tagsIn(text)
  const paired = pairsIn(tags)
  const steps: Step[] = []
  const required = new Map<string, Name>()
  const within: OpenBlock[] = []
  let loops = 0
  let literal = ''
  let from = 0

  const add = (act: Instruction, name: Name = nothing): number => {
    steps.push({ before: literal, act, name, to: 0 })
    literal = ''
    return steps.length - 1
  }
  /** Ends a stretch of text where another way through the template comes in. */
  const settle = (): void => {
    if (literal !== '') add(Instruction.text)
  }
  const leadHere = (step: number): void => {
    ;(steps[step] as Step).to = steps.length
  }
  const need = (name: Name): void => {
    if (within.length === 0 && name.kind !== 'reserved' && name.kind !== 'nowhere') {
      if (!required.has(name.full)) required.set(name.full, name)
    }
  }

  const take = {
    value: (name: Name): void => {
      if (name.kind === 'reserved') {
        literal += link
        return
      }
      need(name)
      add(Instruction.value, name)
    },
    open: (block: Block, name: Name): void => {
      if (block === 'each') need(name)
      within.push({ block, at: add(Instruction[block], name), elseAt: -1 })
      if (block === 'each') loops++
    },
    else: (inside: OpenBlock): void => {
      inside.elseAt = add(Instruction.jump)
      leadHere(inside.at)
    },
    close: (): void => {
      const { block, at, elseAt } = within.pop() as OpenBlock
      if (block === 'each') {
        ;(steps[add(Instruction.next)] as Step).to = at + 1
        loops--
      } else settle()
      leadHere(elseAt < 0 ? at : elseAt)
    },
  }

  /** Whether the tag means something where it stands; else it is left in the text as it is. */
  const counts = (tag: Tag): boolean => {
    if (tag.kind === 'value') return tag.name !== '@index' || loops > 0
    if (tag.kind !== 'else') return paired.has(tag)
    const inside = within.at(-1)
    return inside?.block === 'if' && inside.elseAt < 0
  }

  for (const tag of tags) {
    if (!counts(tag)) continue
    literal += text.slice(from, tag.start)
    from = tag.end
    if (tag.kind === 'value') take.value(readName(tag.name, loops > 0))
    else if (tag.kind === 'open') take.open(tag.block, readName(tag.name, loops > 0))
    else if (tag.kind === 'else') take.else(within.at(-1) as OpenBlock)
    else take.close()
  }
  literal += text.slice(from, text.length)
  settle()
  return { steps, required: [...required.values()] }
}
