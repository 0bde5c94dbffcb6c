/** Codes and tokens. Each begins with its kind, so that a leaked one is recognised, and only hashes are stored. */
import { randomBytes } from 'node:crypto'
import { sha256 } from '../../platform/ground/crypto.ts'

const random = (): string => randomBytes(32).toString('base64url')
const secret = '[A-Za-z0-9_-]{43}'

const codeShape = new RegExp(`^svc_oac_${secret}$`)
const accessShape = new RegExp(`^svc_oat_${secret}$`)
/** The first secret is that of the grant and never changes, the second one is new in every token. */
const refreshShape = new RegExp(`^svc_ort_(${secret})\\.${secret}$`)

type Minted = { text: string; hash: Buffer }

const minted = (text: string): Minted => ({ text, hash: sha256(text) })

export const newAuthorizationCode = (): Minted => minted(`svc_oac_${random()}`)
export const newAccessToken = (): Minted => minted(`svc_oat_${random()}`)
export const newFamily = (): string => random()
export const newRefreshToken = (family: string): Minted => minted(`svc_ort_${family}.${random()}`)

export const isCodeShaped = (text: string): boolean => codeShape.test(text)
export const isAccessShaped = (text: string): boolean => accessShape.test(text)
/** The secret that all refresh tokens of a grant share. Undefined if the text is not a refresh token. */
export const familyOf = (text: string): string | undefined => text.match(refreshShape)?.[1]
