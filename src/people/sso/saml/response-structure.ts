/**
 * Judges the form of a response before its signature is verified: one assertion, signatures only where they belong, and
 * only strong algorithms. It takes no value from the document, because nothing in it is proven yet.
 */
import {
  assertionNs,
  digestAlgorithms,
  envelopedTransform,
  exclusiveC14n,
  protocolNs,
  signatureAlgorithms,
  signatureNs,
  statusSuccess,
} from './saml-names.ts'
import { childrenNamed, everyElement, type XmlElement } from './strict-xml.ts'

/** Why a response is refused. The reason is for the log, so it never contains a part of the document. */
export class ResponseFault extends Error {}

export const fail = (reason: string): never => {
  throw new ResponseFault(reason)
}

export const only = (elements: XmlElement[], what: string): XmlElement =>
  elements.length === 1 ? (elements[0] as XmlElement) : fail(`not exactly one ${what}`)

const algorithmOf = (element: XmlElement): string => element.attributes.get('Algorithm') ?? ''

/** An enveloped signature over its own parent, and nothing else in it that could hold another document. */
const checkSignature = (signature: XmlElement): void => {
  const parentId = signature.parent?.attributes.get('ID')
  const parts = signature.children.map(({ name, namespace }) => (namespace === signatureNs ? name : 'foreign'))
  if (!/^SignedInfo,SignatureValue(,KeyInfo)?$/.test(parts.join())) fail('unexpected part of a signature')
  const info = signature.children[0] as XmlElement
  const inside = info.children.map(({ name }) => name).join()
  if (inside !== 'CanonicalizationMethod,SignatureMethod,Reference') fail('unexpected part of a signature')
  const [c14n, method, reference] = info.children as [XmlElement, XmlElement, XmlElement]
  if (algorithmOf(c14n) !== exclusiveC14n) fail('canonicalization not allowed')
  if (!signatureAlgorithms.has(algorithmOf(method))) fail('signature algorithm not allowed')
  if (parentId === undefined || reference.attributes.get('URI') !== `#${parentId}`) fail('signature of another element')
  if (reference.children.map(({ name }) => name).join() !== 'Transforms,DigestMethod,DigestValue') {
    fail('unexpected part of a signature')
  }
  const [transforms, digest] = reference.children as [XmlElement, XmlElement]
  if (transforms.children.map(algorithmOf).join() !== `${envelopedTransform},${exclusiveC14n}`) {
    fail('transforms not allowed')
  }
  if (!digestAlgorithms.has(algorithmOf(digest))) fail('digest algorithm not allowed')
}

/** Attributes that some verifier takes for an id. Two elements with one id are the core of signature wrapping. */
const idAttributes = ['ID', 'Id', 'id', 'xml:id', 'AssertionID']

const checkIds = (elements: XmlElement[]): void => {
  const seen = new Set<string>()
  for (const { attributes } of elements) {
    for (const name of idAttributes) {
      const id = attributes.get(name)
      if (id === undefined) continue
      if (seen.has(id) || !/^[\w.-]{1,200}$/.test(id)) fail('ambiguous id')
      seen.add(id)
    }
  }
}

const checkSignatures = (elements: XmlElement[], root: XmlElement, assertion: XmlElement): void => {
  const signatures = elements.filter(({ name }) => name === 'Signature')
  if (signatures.some(({ parent }) => parent !== root && parent !== assertion)) fail('signature out of place')
  if (signatures.filter(({ parent }) => parent === assertion).length !== 1) fail('assertion not signed once')
  if (signatures.length > 2) fail('too many signatures')
  for (const signature of signatures) {
    if (signature.namespace !== signatureNs) fail('signature out of place')
    checkSignature(signature)
  }
}

/** Unsigned parts of the message that must agree with the signed assertion. */
export type ResponseEnvelope = ReturnType<typeof checkStructure>

export const checkStructure = (root: XmlElement) => {
  if (root.name !== 'Response' || root.namespace !== protocolNs) fail('not a response')
  const elements = everyElement(root)
  const assertion = only(
    elements.filter(({ name }) => name === 'Assertion' || name === 'EncryptedAssertion'),
    'assertion',
  )
  if (assertion.parent !== root || assertion.name !== 'Assertion' || assertion.namespace !== assertionNs) {
    fail('assertion out of place')
  }
  if (elements.some((element) => element !== root && element.name === 'Response')) fail('response out of place')
  checkIds(elements)
  const status = only(childrenNamed(root, protocolNs, 'Status'), 'status')
  const code = only(childrenNamed(status, protocolNs, 'StatusCode'), 'status')
  if (code.attributes.get('Value') !== statusSuccess) fail('refused by the identity provider')
  checkSignatures(elements, root, assertion)
  const issuers = childrenNamed(root, assertionNs, 'Issuer')
  if (issuers.length > 1) fail('several issuers')
  return {
    destination: root.attributes.get('Destination'),
    inResponseTo: root.attributes.get('InResponseTo'),
    issuer: issuers[0]?.text.trim(),
  }
}
