/** Asks a person for their own password and codes, if an identity provider opened the session for one organisation only. */
import { makePrompt } from './prompt.ts'

export const {
  enable: enableStepUpPrompt,
  ask: askToStepUp,
  answer: answerStepUp,
  useAsked: useStepUpAsked,
} = makePrompt()
