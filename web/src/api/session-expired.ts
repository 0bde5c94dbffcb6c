/** Asks a person whose session ended to sign in again. Public pages have no session that could end. */
import { makePrompt } from './prompt.ts'

export const {
  enable: enableSignInPrompt,
  ask: askToSignIn,
  answer: answerSignIn,
  useAsked: useSignInAsked,
} = makePrompt()
