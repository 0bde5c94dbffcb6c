import type { operations } from '../../../api/schema.gen.ts'

type LoginAnswer = operations['postApiAuthLogin2fa']['responses'][200]['content']['application/json']

/** The answer of the last step of a sign-in. */
export type SignedIn = LoginAnswer
