/** Finds braces in a template that look like a tag of another template language and are sent as text. */
import { type IgnoredBraces, parse } from './parse.ts'
import { maxWarnings, type TemplateWarning } from './shapes.ts'
import type { TemplateRow } from './store.ts'

/** How much of the template a message quotes. */
const maxQuoted = 60

type Trap = { code: TemplateWarning['code']; message: string }

/** What to write instead of a tag that is valid elsewhere. */
const adviceOnMisplaced = (inner: string): string => {
  const [, sign, block] = /^([#/])\s*(each|if|unless)\b/.exec(inner) ?? []
  if (sign === '#') return `: it is not closed. Add {{/${block}}}.`
  if (sign === '/') return `: no {{#${block}}} is open here. Remove it, or open the block first.`
  if (inner === 'else') return '. Write it once, directly between {{#if …}} and {{/if}}.'
  return '. Write it inside {{#each …}}.'
}

const trapIn = (braces: string, isMisplaced: boolean): Trap => {
  const tag = braces.length > maxQuoted ? `${braces.slice(0, maxQuoted)}…` : braces
  const inner = braces.replace(/^\{+|\}+$/g, '').trim()
  const short = inner.slice(0, maxQuoted)
  const sentAsText = (code: Trap['code'], advice: string): Trap => ({
    code,
    message: `${tag} is sent as text${advice}`,
  })
  if (isMisplaced) return sentAsText('misplaced_tag', adviceOnMisplaced(inner))
  if (inner.startsWith('!')) return sentAsText('comment', ': there are no comments in templates. Remove it.')
  if (/^else\s+if\b/.test(inner)) {
    const condition = short.replace(/^else\s+if\s*/, '')
    return sentAsText('else_if', `. Write {{else}}{{#if ${condition}}} and close both blocks with {{/if}}{{/if}}.`)
  }
  if (inner.includes('../')) {
    const name = short.replaceAll('../', '')
    const advice = `. Write {{${name}}}: a name that the item does not have is looked up outside the loop.`
    return sentAsText('parent_path', advice)
  }
  if (braces.startsWith('{{{')) {
    const message = `The outer braces of ${tag} are sent as text. Write {{${short}}}: values in html are always escaped.`
    return { code: 'triple_braces', message }
  }
  if (inner.startsWith('>')) {
    return sentAsText('partial', ': there are no partials. Write the content into the template.')
  }
  return sentAsText('not_a_tag', '. Write {{name}} for a value; there are no helpers and no expressions.')
}

/** Collects the braces of each kind that the parser reports, at most `maxWarnings` of each, in the order of the text. */
const ignoredIn = (text: string): IgnoredBraces[] => {
  const ignored: IgnoredBraces[] = []
  const counts = { plain: 0, misplaced: 0 }
  parse(text, undefined, (braces) => {
    // The parser reports braces without a tag first, then misplaced tags.
    if (counts[braces.misplaced ? 'misplaced' : 'plain']++ < maxWarnings) ignored.push(braces)
  })
  return ignored.sort((a, b) => a.start - b.start).slice(0, maxWarnings)
}

const warningsIn = (field: TemplateWarning['field'], text: string): TemplateWarning[] => {
  let line = 1
  let lineStart = 0
  return ignoredIn(text).map(({ start, end, misplaced }) => {
    for (let next = text.indexOf('\n', lineStart); next >= 0 && next < start; next = text.indexOf('\n', lineStart)) {
      line++
      lineStart = next + 1
    }
    return { field, line, column: start - lineStart + 1, ...trapIn(text.slice(start, end), misplaced) }
  })
}

/** The warnings of the parts that the channel uses. */
export const warningsOf = ({ channel, subject, html, text }: TemplateRow): TemplateWarning[] => {
  const parts = channel === 'sms' ? { text } : { subject, html, text }
  return Object.entries(parts)
    .flatMap(([field, part]) => (part === null ? [] : warningsIn(field as TemplateWarning['field'], part)))
    .slice(0, maxWarnings)
}
