/**
 * Reads filters and paths of SCIM (RFC 7644, sections 3.4.2.2 and 3.5.2). Directories look people and groups up by exact
 * values, so the only comparison is `eq`, and several are joined by `and`. Time is linear in the length of the text.
 */
import { ScimFault, type ScimType } from './scim-fault.ts'

/** The attribute is in lower case and without the URN of its schema. */
export type Condition = { attribute: string; value: string | boolean }

export type ScimPath = { attribute: string; conditions: Condition[] | undefined }

type Token = { kind: 'word' | 'text' | 'mark'; text: string }

const maxText = 2_000
const maxConditions = 10
const maxNesting = 5

const token = /\s*(?:([A-Za-z$_][\w$:.-]*)|("(?:[^"\\]|\\.)*")|([()[\]]|\.(?=[A-Za-z$_])))/y
const coreSchema = /^urn:ietf:params:scim:schemas:core:2\.0:(?:user|group):/

export const plainAttribute = (name: string): string => name.toLowerCase().replace(coreSchema, '')

class Reader {
  private readonly tokens: Token[]
  private readonly scimType: ScimType
  private at = 0
  private nesting = 0

  constructor(text: string, scimType: ScimType) {
    this.scimType = scimType
    this.tokens = this.split(text)
  }

  fault(detail: string): ScimFault {
    return new ScimFault(400, detail, this.scimType)
  }

  private split(text: string): Token[] {
    if (text.length > maxText) throw this.fault(`Must be at most ${maxText} characters.`)
    const trimmed = text.trim()
    const tokens: Token[] = []
    token.lastIndex = 0
    while (token.lastIndex < trimmed.length) {
      const start = token.lastIndex
      const found = token.exec(trimmed)
      if (!found) throw this.fault(`Cannot be read from character ${start + 1} on.`)
      const [, word, quoted, mark] = found
      if (word !== undefined) tokens.push({ kind: 'word', text: word })
      else if (quoted !== undefined) tokens.push({ kind: 'text', text: quoted })
      else tokens.push({ kind: 'mark', text: mark as string })
    }
    return tokens
  }

  peek(): Token | undefined {
    return this.tokens[this.at]
  }

  takeMark(mark: string): boolean {
    const next = this.peek()
    if (next?.kind !== 'mark' || next.text !== mark) return false
    this.at++
    return true
  }

  takeWord(): string | undefined {
    const next = this.peek()
    if (next?.kind !== 'word') return undefined
    this.at++
    return next.text
  }

  end(): void {
    if (this.peek()) throw this.fault('Has more than one expression. Join comparisons by "and".')
  }

  private value(): string | boolean {
    const next = this.peek()
    this.at++
    if (next?.kind === 'word' && /^(?:true|false)$/i.test(next.text)) return next.text.toLowerCase() === 'true'
    if (next?.kind !== 'text') throw this.fault('Compare with a text in double quotes, with true or with false.')
    return this.decode(next.text)
  }

  private decode(quoted: string): string {
    let text: unknown
    try {
      text = JSON.parse(quoted)
    } catch {
      throw this.fault('Has a text in double quotes that is not valid JSON.')
    }
    // PostgreSQL cannot store either, so nothing can be equal to it.
    const value = text as string
    if (value.includes('\0') || !value.isWellFormed()) throw this.fault('Has a character that cannot be stored.')
    return value
  }

  private comparison(attribute: string): Condition {
    const operator = this.takeWord()?.toLowerCase()
    if (operator !== 'eq') throw this.fault('The only supported comparison is "eq".')
    return { attribute: plainAttribute(attribute), value: this.value() }
  }

  private bracketed(): Condition[] {
    const inside = this.conditions()
    if (!this.takeMark(']')) throw this.fault('A "[" has no "]".')
    return inside
  }

  /** `emails[type eq "work"].value eq "x"` compares only the value: an address here has no type. */
  private term(): Condition[] {
    if (this.takeMark('(')) {
      const inside = this.conditions()
      if (!this.takeMark(')')) throw this.fault('A "(" has no ")".')
      return inside
    }
    const attribute = this.takeWord()
    if (attribute === undefined) throw this.fault('An attribute is missing.')
    if (!this.takeMark('[')) return [this.comparison(attribute)]
    const inside = this.bracketed()
    if (this.takeMark('.')) return [this.comparison(`${attribute}.${this.takeWord() ?? ''}`)]
    return inside.map((one) => ({ ...one, attribute: `${plainAttribute(attribute)}.${one.attribute}` }))
  }

  conditions(): Condition[] {
    if (++this.nesting > maxNesting) throw this.fault(`Must be nested at most ${maxNesting} deep.`)
    const found = this.term()
    while (this.peek()?.kind === 'word' && this.peek()?.text.toLowerCase() === 'and') {
      this.at++
      found.push(...this.term())
      if (found.length > maxConditions) throw this.fault(`Must have at most ${maxConditions} comparisons.`)
    }
    this.nesting--
    return found
  }

  path(): ScimPath {
    const attribute = this.takeWord()
    if (attribute === undefined) throw this.fault('A path begins with an attribute.')
    const name = plainAttribute(attribute)
    if (!this.takeMark('[')) return { attribute: name, conditions: undefined }
    const conditions = this.bracketed()
    const sub = this.takeMark('.') ? this.takeWord() : undefined
    return { attribute: sub === undefined ? name : `${name}.${sub.toLowerCase()}`, conditions }
  }
}

/** All conditions must hold. */
export const readFilter = (text: string): Condition[] => {
  const reader = new Reader(text, 'invalidFilter')
  const conditions = reader.conditions()
  reader.end()
  const names = new Set(conditions.map(({ attribute }) => attribute))
  if (names.size < conditions.length) throw reader.fault('Compares an attribute more than once.')
  return conditions
}

export const readPath = (text: string): ScimPath => {
  const reader = new Reader(text, 'invalidPath')
  const path = reader.path()
  reader.end()
  return path
}
