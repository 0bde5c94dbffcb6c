/** The page for a request that cannot be sent back to its client, because the client or its address is not known. */
import { plainPage } from '../plain-page.ts'

const reasons = {
  client: 'The program that sent you here is not registered, or the address it wants to return to is not its own.',
  length: 'The link that brought you here is too long. Sign in first, then open it again.',
}

export type RefusalReason = keyof typeof reasons

export const refusalPage = (reason: RefusalReason): string =>
  plainPage({
    icon: 'warn',
    title: 'This request cannot be answered',
    body: `<p>${reasons[reason]}</p>
<p>Nothing was allowed. Go back to the program that sent you here and connect it again.</p>`,
  })
