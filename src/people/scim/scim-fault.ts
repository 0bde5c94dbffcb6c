/** A refusal in the words of SCIM (RFC 7644, section 3.12), which has its own error body. */
export type ScimType =
  | 'invalidFilter'
  | 'invalidPath'
  | 'invalidSyntax'
  | 'invalidValue'
  | 'mutability'
  | 'noTarget'
  | 'uniqueness'

export class ScimFault extends Error {
  readonly status: number
  readonly scimType: ScimType | undefined

  constructor(status: number, detail: string, scimType?: ScimType) {
    super(detail)
    this.name = 'ScimFault'
    this.status = status
    this.scimType = scimType
  }
}

export const notInDirectory = (): ScimFault => new ScimFault(404, 'There is no such resource.')

export const invalidScimValue = (detail: string): ScimFault => new ScimFault(400, detail, 'invalidValue')
