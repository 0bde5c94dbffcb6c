/**
 * Compiles a template into a flat list of steps with jumps. Neither the parser nor the renderer is recursive, so deep
 * nesting cannot exhaust the stack. Every character is read a fixed number of times.
 */

/** The source: a string, or in tests an object that counts how many characters are read. */
export type Text = Pick<string, 'length' | 'indexOf' | 'slice'>

type Block = 'each' | 'if' | 'unless'

export type Name = {
  full: string
  kind: 'plain' | 'path' | 'item' | 'index' | 'reserved' | 'unresolved'
  first: string
  rest: readonly string[]
}

export const Instruction = { text: 0, value: 1, if: 2, unless: 3, jump: 4, each: 5, next: 6 } as const
type Instruction = (typeof Instruction)[keyof typeof Instruction]

export type Step = {
  /** Literal text that is output before the step runs. */
  before: string
  act: Instruction
  name: Name
  /** The index of the step to jump to. */
  to: number
}

export type Program = {
  steps: readonly Step[]
  /** Names that must be supplied: those shown or looped over outside of every block. */
  required: readonly Name[]
  /** Whether the unsubscribe link is shown outside of every block. */
  hasLink: boolean
}

/** Set for each recipient when a message is sent, never from variables. */
export const unsubscribeName = 'unsubscribe_url'
export const unsubscribeTag = `{{${unsubscribeName}}}`

const segment = '[\\p{L}\\p{N}_$][\\p{L}\\p{M}\\p{N}_$-]*'
const namePattern = new RegExp(`^(?:@index|${segment}(?:\\.${segment})*)$`, 'u')
const openPattern = /^#\s*(each|if|unless)\s+(\S+)$/
const closePattern = /^\/\s*(each|if|unless)$/

/** Braces that are sent as text: they contain no tag, or a tag that is not valid in its place. */
export type IgnoredBraces = { start: number; end: number; misplaced: boolean }
type OnIgnored = (braces: IgnoredBraces) => void

type Tag = { start: number; end: number } & (
  | { kind: 'value'; name: string }
  | { kind: 'open'; block: Block; name: string }
  | { kind: 'close'; block: Block }
  | { kind: 'else' }
)
type Meaning = Tag extends infer T ? (T extends Tag ? Omit<T, 'start' | 'end'> : never) : never

/** Parses the text between two pairs of braces. Undefined when it is not a tag, and so plain text. */
const meaningOf = (content: string): Meaning | undefined => {
  const inner = content.trim()
  if (inner === 'else') return { kind: 'else' }
  if (namePattern.test(inner)) return { kind: 'value', name: inner }
  const [, opened, name] = openPattern.exec(inner) ?? []
  if (opened && name && namePattern.test(name)) return { kind: 'open', block: opened as Block, name }
  const [, closed] = closePattern.exec(inner) ?? []
  return closed ? { kind: 'close', block: closed as Block } : undefined
}

/** Every tag, delimited by the innermost braces: `{{{x}}}` is a tag between two literal braces. */
const tagsIn = (text: Text, onIgnored?: OnIgnored): Tag[] => {
  const tags: Tag[] = []
  for (let at = 0; ; ) {
    const open = text.indexOf('{{', at)
    const close = open < 0 ? -1 : text.indexOf('}}', open + 2)
    if (close < 0) return tags
    const span = text.slice(open, close)
    const inner = span.lastIndexOf('{{')
    const meaning = meaningOf(span.slice(inner + 2))
    at = close + 2
    // Outer braces stay in the text, also around a tag.
    if (onIgnored && (inner > 0 || !meaning)) {
      onIgnored({ start: open, end: text.slice(at, at + 1) === '}' ? at + 1 : at, misplaced: false })
    }
    if (meaning) tags.push({ ...meaning, start: open + inner, end: at })
  }
}

/** Tags of blocks that are both opened and closed. A close tag ends the nearest open block of its kind. */
const pairsIn = (tags: Tag[]): Set<Tag> => {
  const paired = new Set<Tag>()
  const open: Extract<Tag, { kind: 'open' }>[] = []
  const count: Record<Block, number> = { each: 0, if: 0, unless: 0 }
  for (const tag of tags) {
    if (tag.kind === 'open') {
      open.push(tag)
      count[tag.block]++
    } else if (tag.kind === 'close' && count[tag.block] > 0) {
      // Inner blocks that are still open stay unpaired. Popping each block only once keeps the search linear.
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

const noName: Name = { full: '', kind: 'unresolved', first: '', rest: [] }

const readName = (full: string, inLoop: boolean): Name => {
  if (full === unsubscribeName) return { full, kind: 'reserved', first: full, rest: [] }
  if (full === '@index') return { full, kind: inLoop ? 'index' : 'unresolved', first: full, rest: [] }
  const [first = '', ...rest] = full.split('.')
  if (inLoop && first === 'this') return { full, kind: 'item', first, rest }
  return { full, kind: rest.length > 0 ? 'path' : 'plain', first, rest }
}

type OpenBlock = { block: Block; at: number; elseAt: number }

/** @param link Replaces the tag of the unsubscribe link. */
export const parse = (text: Text, link = unsubscribeTag, onIgnored?: OnIgnored): Program => {
  const tags = tagsIn(text, onIgnored)
  const paired = pairsIn(tags)
  const steps: Step[] = []
  const required = new Map<string, Name>()
  const openBlocks: OpenBlock[] = []
  let loops = 0
  let hasLink = false
  let literal = ''
  let from = 0

  const add = (act: Instruction, name: Name = noName): number => {
    steps.push({ before: literal, act, name, to: 0 })
    literal = ''
    return steps.length - 1
  }
  /** Adds a step for pending text. Needed before a jump target, so that the text belongs to only one branch. */
  const flushText = (): void => {
    if (literal !== '') add(Instruction.text)
  }
  const jumpHere = (step: number): void => {
    ;(steps[step] as Step).to = steps.length
  }
  const addRequired = (name: Name): void => {
    if (openBlocks.length === 0 && name.kind !== 'reserved' && name.kind !== 'unresolved') {
      if (!required.has(name.full)) required.set(name.full, name)
    }
  }

  const compileTag = {
    value: (name: Name): void => {
      if (name.kind === 'reserved') {
        literal += link
        hasLink ||= openBlocks.length === 0
        return
      }
      addRequired(name)
      add(Instruction.value, name)
    },
    open: (block: Block, name: Name): void => {
      if (block === 'each') addRequired(name)
      openBlocks.push({ block, at: add(Instruction[block], name), elseAt: -1 })
      if (block === 'each') loops++
    },
    else: (inside: OpenBlock): void => {
      inside.elseAt = add(Instruction.jump)
      jumpHere(inside.at)
    },
    close: (): void => {
      const { block, at, elseAt } = openBlocks.pop() as OpenBlock
      if (block === 'each') {
        ;(steps[add(Instruction.next)] as Step).to = at + 1
        loops--
      } else flushText()
      jumpHere(elseAt < 0 ? at : elseAt)
    },
  }

  /** Whether the tag is valid in its position. Other tags stay in the text unchanged. */
  const isValid = (tag: Tag): boolean => {
    if (tag.kind === 'value') return tag.name !== '@index' || loops > 0
    if (tag.kind !== 'else') return paired.has(tag)
    const inside = openBlocks.at(-1)
    return inside?.block === 'if' && inside.elseAt < 0
  }

  for (const tag of tags) {
    if (!isValid(tag)) {
      onIgnored?.({ start: tag.start, end: tag.end, misplaced: true })
      continue
    }
    literal += text.slice(from, tag.start)
    from = tag.end
    if (tag.kind === 'value') compileTag.value(readName(tag.name, loops > 0))
    else if (tag.kind === 'open') compileTag.open(tag.block, readName(tag.name, loops > 0))
    else if (tag.kind === 'else') compileTag.else(openBlocks.at(-1) as OpenBlock)
    else compileTag.close()
  }
  literal += text.slice(from, text.length)
  flushText()
  return { steps, required: [...required.values()], hasLink }
}
