/**
 * Reads the part of XML that SAML messages and metadata use, in one pass and within limits. Everything else is refused:
 * document types, entities, CDATA sections and, in messages, comments and processing instructions. Parsers disagree
 * most on those parts, and the known attacks on SAML use such disagreements.
 */

export class XmlFault extends Error {}

export type XmlElement = {
  /** Without prefix. */
  name: string
  namespace: string
  /** Without namespace declarations. Names with a prefix keep it. */
  attributes: Map<string, string>
  children: XmlElement[]
  /** The text directly inside the element. */
  text: string
  parent: XmlElement | undefined
}

export type XmlLimits = {
  maxChars: number
  maxElements: number
  /** Of all elements together. */
  maxAttributes: number
  /** Of namespaces, in all elements together. They count as attributes too. */
  maxDeclarations: number
  maxDepth: number
  /** Comments and processing instructions are skipped instead of refused. */
  skipRemarks: boolean
}

const maxAttributesOfElement = 32
/** Canonicalization compares every element with each namespace that is in scope. */
const maxNamespacesInScope = 24

const xmlNamespace = 'http://www.w3.org/XML/1998/namespace'
const namePattern = /[A-Za-z_][\w.-]*(?::[A-Za-z_][\w.-]*)?/y
const attributePattern = /\s+([A-Za-z_][\w.-]*(?::[A-Za-z_][\w.-]*)?)\s*=\s*(?:"([^<"]*)"|'([^<']*)')/y
const tagEnd = /\s*(\/?)>/y
const declaration = /^\uFEFF?<\?xml\s+version\s*=\s*(["'])1\.\d\1[^?<>]*\?>/
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches what XML does not allow
const forbidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/

const named: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** Only the five predefined entities and character references have a meaning without a document type. */
const decoded = (text: string): string => {
  if (!text.includes('&')) return text
  return text.replace(/&(?:#x([0-9a-fA-F]{1,6})|#(\d{1,7})|(\w{1,8}));|&/g, (_, hex, decimal, name) => {
    const known = name === undefined ? undefined : named[name]
    if (known !== undefined) return known
    const digits = hex ?? decimal
    const code = digits === undefined ? Number.NaN : Number.parseInt(digits, hex === undefined ? 10 : 16)
    if (!(code > 0 && code <= 0x10ffff) || (code >= 0xd800 && code <= 0xdfff)) throw new XmlFault('unknown entity')
    const character = String.fromCodePoint(code)
    if (forbidden.test(character)) throw new XmlFault('forbidden character')
    return character
  })
}

type Open = { element: XmlElement; tag: string; namespaces: Map<string, string> }

/** Namespaces in scope, shared with the parent when the element declares none. */
const scopeOf = (given: [string, string][], outer: Map<string, string>): Map<string, string> => {
  const declared = given.filter(([name]) => name === 'xmlns' || name.startsWith('xmlns:'))
  if (declared.length === 0) return outer
  const scope = new Map(outer)
  for (const [name, value] of declared) scope.set(name === 'xmlns' ? '' : name.slice(6), value)
  if (scope.size > maxNamespacesInScope) throw new XmlFault('too many namespaces')
  return scope
}

const elementOf = (tag: string, given: [string, string][], scope: Map<string, string>): XmlElement => {
  const colon = tag.indexOf(':')
  const prefix = colon < 0 ? '' : tag.slice(0, colon)
  const namespace = scope.get(prefix) ?? (prefix === '' ? '' : undefined)
  if (namespace === undefined) throw new XmlFault('undeclared prefix')
  const attributes = new Map(given.filter(([name]) => name !== 'xmlns' && !name.startsWith('xmlns:')))
  return { name: tag.slice(colon + 1), namespace, attributes, children: [], text: '', parent: undefined }
}

/** One document. `at` is the position of the next character to read. */
const makeReader = (xml: string, limits: XmlLimits) => {
  let at = 0
  let elements = 0
  let declarations = 0
  let attributes = 0
  const stack: Open[] = []
  let root: XmlElement | undefined

  const match = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at
    const found = pattern.exec(xml)
    if (found) at = pattern.lastIndex
    return found ?? undefined
  }

  const skipTo = (end: string): void => {
    const found = xml.indexOf(end, at)
    if (found < 0) throw new XmlFault('unfinished markup')
    at = found + end.length
  }

  const readAttributes = (): [string, string][] => {
    const given: [string, string][] = []
    for (let found = match(attributePattern); found; found = match(attributePattern)) {
      const name = found[1] as string
      if (given.length === maxAttributesOfElement || ++attributes > limits.maxAttributes) {
        throw new XmlFault('too many attributes')
      }
      if (given.some(([other]) => other === name)) throw new XmlFault('duplicate attribute')
      if (name.startsWith('xmlns') && ++declarations > limits.maxDeclarations) throw new XmlFault('too many namespaces')
      given.push([name, decoded((found[2] ?? found[3]) as string)])
    }
    return given
  }

  const openTag = (): void => {
    const tag = match(namePattern)?.[0]
    if (tag === undefined) throw new XmlFault('invalid tag')
    if (++elements > limits.maxElements) throw new XmlFault('too many elements')
    if (stack.length === limits.maxDepth) throw new XmlFault('too deep')
    const given = readAttributes()
    const end = match(tagEnd)
    if (!end) throw new XmlFault('invalid tag')
    const outer = stack.at(-1)
    const namespaces = scopeOf(given, outer?.namespaces ?? new Map([['xml', xmlNamespace]]))
    const element = elementOf(tag, given, namespaces)
    if (outer) {
      element.parent = outer.element
      outer.element.children.push(element)
    } else if (root) throw new XmlFault('several root elements')
    else root = element
    if (end[1] === '') stack.push({ element, tag, namespaces })
  }

  const closeTag = (): void => {
    at += 2
    const tag = match(namePattern)?.[0]
    const open = stack.pop()
    if (open === undefined || open.tag !== tag || match(tagEnd)?.[1] !== '') throw new XmlFault('invalid end tag')
  }

  const readMarkup = (): void => {
    if (xml.startsWith('</', at)) closeTag()
    else if (limits.skipRemarks && xml.startsWith('<!--', at)) skipTo('-->')
    else if (limits.skipRemarks && xml.startsWith('<?', at)) skipTo('?>')
    else if (xml.startsWith('<!', at) || xml.startsWith('<?', at)) throw new XmlFault('forbidden markup')
    else {
      at += 1
      openTag()
    }
  }

  const readText = (): void => {
    const next = xml.indexOf('<', at)
    const raw = xml.slice(at, next < 0 ? undefined : next)
    at = next < 0 ? xml.length : next
    const open = stack.at(-1)
    if (open) open.element.text += decoded(raw)
    else if (raw.trim() !== '') throw new XmlFault('text outside the document')
  }

  return (): XmlElement => {
    at = declaration.exec(xml)?.[0].length ?? (xml.startsWith('\uFEFF') ? 1 : 0)
    while (at < xml.length) {
      if (xml[at] === '<') readMarkup()
      else readText()
    }
    if (!root || stack.length > 0) throw new XmlFault('unfinished document')
    return root
  }
}

/** Throws XmlFault, whose message never contains a part of the document. */
export const readXml = (xml: string, limits: XmlLimits): XmlElement => {
  if (xml.length > limits.maxChars) throw new XmlFault('too large')
  if (forbidden.test(xml)) throw new XmlFault('forbidden character')
  return makeReader(xml, limits)()
}

/** The element and everything in it, in the order of the document. */
export const everyElement = (element: XmlElement): XmlElement[] => {
  const found = [element]
  for (let i = 0; i < found.length; i++) found.push(...(found[i] as XmlElement).children)
  return found
}

export const childrenNamed = (element: XmlElement, namespace: string, name: string): XmlElement[] =>
  element.children.filter((child) => child.name === name && child.namespace === namespace)
