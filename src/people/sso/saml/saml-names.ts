/** Namespaces and identifiers of SAML 2.0 and XML signatures. */
export const protocolNs = 'urn:oasis:names:tc:SAML:2.0:protocol'
export const assertionNs = 'urn:oasis:names:tc:SAML:2.0:assertion'
export const metadataNs = 'urn:oasis:names:tc:SAML:2.0:metadata'
export const signatureNs = 'http://www.w3.org/2000/09/xmldsig#'

export const statusSuccess = 'urn:oasis:names:tc:SAML:2.0:status:Success'
export const bearerMethod = 'urn:oasis:names:tc:SAML:2.0:cm:bearer'
export const redirectBinding = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect'
export const emailFormat = 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress'
export const unspecifiedFormat = 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified'

export const exclusiveC14n = 'http://www.w3.org/2001/10/xml-exc-c14n#'
export const envelopedTransform = 'http://www.w3.org/2000/09/xmldsig#enveloped-signature'

/** SHA-1 can be forged, and an HMAC under a public key can be made by anyone. */
export const signatureAlgorithms: ReadonlySet<string> = new Set([
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
  'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1',
])
export const digestAlgorithms: ReadonlySet<string> = new Set([
  'http://www.w3.org/2001/04/xmlenc#sha256',
  'http://www.w3.org/2001/04/xmlenc#sha512',
])
