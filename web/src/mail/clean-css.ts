/**
 * Keeps of the styles of a mail what is known to be harmless: listed properties and functions, simple selectors, media
 * queries. Everything is read once, and what is kept has an upper limit, because the style sheets of strangers can keep a
 * browser busy for minutes.
 */

/** Returns what may stand in the place of an address, or undefined if it may not be loaded. */
export type CheckUrl = (url: string) => string | undefined

const properties = new Set(
  `border-collapse border-spacing box-sizing caption-side clear color direction display empty-cells float height hyphens
  letter-spacing line-height opacity overflow overflow-wrap overflow-x quotes table-layout unicode-bidi vertical-align
  visibility white-space width word-break word-spacing word-wrap`.split(/\s+/),
)
const families = /^(?:background|border|font|list-style|margin|max|min|outline|padding|text)(?:-[a-z-]+)?$/

const isKnown = (property: string): boolean => properties.has(property) || families.test(property)

const functions = new Set('calc clamp hsl hsla linear-gradient max min radial-gradient rgb rgba url'.split(' '))

const most = {
  /** Of all style sheets of a mail together. A longer one is cut. */
  sheet: 256_000,
  rules: 1_000,
  selectors: 2_000,
  declarations: 3_000,
  /** Of one element or rule. */
  ofOne: 100,
  value: 1_000,
  selector: 200,
}

/** Comments are no part of a style. One that never ends hides the rest. */
const withoutComments = (css: string): string => {
  let kept = ''
  let from = 0
  for (;;) {
    const start = css.indexOf('/*', from)
    if (start < 0) return kept + css.slice(from)
    kept += `${css.slice(from, start)} `
    const end = css.indexOf('*/', start + 2)
    if (end < 0) return kept
    from = end + 2
  }
}

/** The first of these characters outside of texts in quotes and of round brackets, or the end. */
const find = (css: string, characters: string, from: number): number => {
  let quote = ''
  let depth = 0
  for (let at = from; at < css.length; at++) {
    const character = css[at] as string
    if (quote) {
      if (character === quote || character === '\n') quote = ''
    } else if (character === '"' || character === "'") quote = character
    else if (character === '(') depth++
    else if (character === ')') depth = Math.max(0, depth - 1)
    else if (depth === 0 && characters.includes(character)) return at
  }
  return css.length
}

/** The address after `url(`, and the place after its closing bracket. */
const readAddress = (value: string, from: number): { url: string; end: number } | undefined => {
  const close = (after: number): number => {
    const at = value.indexOf(')', after)
    return value.slice(after, at).trim() === '' ? at : -1
  }
  const text = value.slice(from).trimStart()
  const [quote] = text
  if (quote !== '"' && quote !== "'") {
    const end = value.indexOf(')', from)
    return end < 0 ? undefined : { url: value.slice(from, end).trim(), end: end + 1 }
  }
  const start = value.length - text.length + 1
  const stop = value.indexOf(quote, start)
  const end = stop < 0 ? -1 : close(stop + 1)
  return end < 0 ? undefined : { url: value.slice(start, stop), end: end + 1 }
}

/** The value with its addresses checked. Undefined if it has a function that is not listed or cannot be read. */
const checkedValue = (value: string, checkUrl: CheckUrl): string | undefined => {
  let kept = ''
  let from = 0
  for (;;) {
    const bracket = value.indexOf('(', from)
    if (bracket < 0) break
    const [name = ''] = /[a-z-]*$/i.exec(value.slice(Math.max(from, bracket - 20), bracket)) ?? []
    if (name !== '' && !functions.has(name.toLowerCase())) return undefined
    if (name.toLowerCase() !== 'url') {
      kept += value.slice(from, bracket + 1)
      from = bracket + 1
      continue
    }
    const address = readAddress(value, bracket + 1)
    if (!address) return undefined
    const url = checkUrl(address.url)
    kept += value.slice(from, bracket - 3) + (url === undefined ? 'none' : `url("${url}")`)
    from = address.end
  }
  return kept + value.slice(from)
}

/** An escape could spell any of the names that are looked for. */
const unreadable = /[\\<>{}@]/

const checkedDeclaration = (text: string, checkUrl: CheckUrl): string | undefined => {
  const colon = text.indexOf(':')
  if (colon < 1 || colon > 60) return undefined
  const property = text.slice(0, colon).trim().toLowerCase()
  const value = text.slice(colon + 1).trim()
  if (!isKnown(property) || value === '' || unreadable.test(value)) return undefined
  if (value.length > most.value && !value.includes('data:')) return undefined
  const kept = checkedValue(value, checkUrl)
  return kept === undefined ? undefined : `${property}:${kept}`
}

const declarationsOf = (css: string, checkUrl: CheckUrl): string[] => {
  const kept: string[] = []
  for (let from = 0, parts = 0; from < css.length && parts < most.ofOne; parts++) {
    const end = find(css, ';', from)
    const declaration = checkedDeclaration(css.slice(from, end), checkUrl)
    if (declaration !== undefined) kept.push(declaration)
    from = end + 1
  }
  return kept
}

/** The style of one element. */
export const cleanStyle = (css: string, checkUrl: CheckUrl): string =>
  declarationsOf(withoutComments(css.slice(0, most.sheet)), checkUrl).join(';')

const compound = /^(?:[a-z][a-z0-9]*|\*)?(?:[.#][\w-]+)*(?::(?:link|visited|hover|active|first-child|last-child))?$/i
const mostCompounds = 6

/** Others look at the whole mail again when a part of it is added. */
const isSimple = (selector: string): boolean => {
  if (selector === '' || selector.length > most.selector) return false
  const parts = selector.split(/\s*[>+]\s*|\s+/)
  return parts.length <= mostCompounds && parts.every((part) => part !== '' && compound.test(part))
}

const selectorsOf = (text: string): string[] =>
  text
    .slice(0, most.selector * most.ofOne)
    .split(',')
    .slice(0, most.ofOne)
    .map((selector) => selector.trim())
    .filter(isSimple)

const mediaQuery = /^@media[a-z0-9\s():,.-]{0,200}$/i

/** The closing brace of the block that begins at this one. A block without one ends with the sheet. */
const endOfBlock = (css: string, brace: number): number => {
  let depth = 0
  for (let at = brace; at < css.length; ) {
    depth += css[at] === '{' ? 1 : -1
    if (depth === 0) return at
    at = find(css, '{}', at + 1)
  }
  return css.length
}

type Budget = { rules: number; selectors: number; declarations: number }

const rulesOf = (css: string, checkUrl: CheckUrl, budget: Budget, inMedia: boolean): string => {
  let kept = ''
  for (let from = 0; from < css.length && Object.values(budget).every((left) => left > 0); ) {
    const at = find(css, '{};', from)
    const head = css.slice(from, at).trim()
    if (css[at] !== '{') {
      from = at + 1
      continue
    }
    const end = endOfBlock(css, at)
    const block = css.slice(at + 1, end)
    from = end + 1
    budget.rules--
    if (head.startsWith('@')) {
      if (!inMedia && mediaQuery.test(head)) kept += `${head}{${rulesOf(block, checkUrl, budget, true)}}\n`
      continue
    }
    const selectors = selectorsOf(head)
    budget.selectors -= selectors.length
    if (selectors.length === 0) continue
    const declarations = declarationsOf(block, checkUrl).slice(0, budget.declarations)
    budget.declarations -= declarations.length
    if (declarations.length > 0) kept += `${selectors.join(',')}{${declarations.join(';')}}\n`
  }
  return kept
}

/** The style sheets of a mail, one after the other. */
export const cleanSheets = (sheets: readonly string[], checkUrl: CheckUrl): string => {
  const css = withoutComments(sheets.join('\n').slice(0, most.sheet)).replace(/<!--|-->/g, ' ')
  return rulesOf(
    css,
    checkUrl,
    { rules: most.rules, selectors: most.selectors, declarations: most.declarations },
    false,
  )
}
