/** The pages that recipients see when they follow a link in an email. */
import { plainPage, quotedName } from '../plain-page.ts'

export type Recipient = { address: string; orgName: string }

/** The form field that the button of the page sends. */
export const confirmation = { name: 'confirm', value: 'unsubscribe' }

export const confirmPage = ({ address, orgName }: Recipient): string =>
  plainPage({
    icon: 'mail',
    title: 'Unsubscribe?',
    body: `<p>Do you want to stop receiving mailings from ${quotedName(orgName)} at ${quotedName(address)}?</p>
<form method="post">
<input type="hidden" name="${confirmation.name}" value="${confirmation.value}">
<button type="submit">Unsubscribe</button>
</form>
<p class="small">You may still receive messages about your account or orders, such as receipts.</p>`,
  })

export const donePage = ({ address, orgName }: Recipient): string =>
  plainPage({
    icon: 'good',
    title: 'You are unsubscribed',
    body: `<p>${quotedName(address)} will no longer receive mailings from ${quotedName(orgName)}.</p>
<p class="small">You can close this page.</p>`,
  })

export const alreadyPage = ({ address, orgName }: Recipient): string =>
  plainPage({
    icon: 'good',
    title: 'You are already unsubscribed',
    body: `<p>${quotedName(address)} does not receive mailings from ${quotedName(orgName)}.</p>
<p class="small">You can close this page.</p>`,
  })

export const invalidPage: string = plainPage({
  icon: 'warn',
  title: 'This link is not valid',
  body: `<p>The link may be incomplete or altered. Nothing was changed.</p>
<p class="small">Please open the link from the message again, or copy the complete link.</p>`,
})

export const tryAgainPage: string = plainPage({
  icon: 'warn',
  title: 'Please try again',
  body: `<p>Something went wrong, and your subscription has not changed.</p>
<p class="small">Please open the link from the message again in a few minutes.</p>`,
})
