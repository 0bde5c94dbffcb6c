/** The mails of the service to people, each as text and as HTML. */

export type MailContent = { subject: string; text: string; html: string }

type Part = { say: string } | { code: string } | { button: string; url: string } | { small: string }

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

const textOf = (part: Part): string => {
  if ('say' in part) return part.say
  if ('code' in part) return `    ${part.code}`
  if ('button' in part) return `${part.button}:\n${part.url}`
  return part.small
}

const font = "font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"
const mono = 'font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace'

const htmlOf = (part: Part): string => {
  if ('say' in part) return `<p style="margin:0 0 16px;font-size:16px;line-height:24px">${escapeHtml(part.say)}</p>`
  if ('code' in part) {
    return `<p style="margin:8px 0 24px;padding:16px;background:#f1f3f5;border-radius:8px;text-align:center;font-size:32px;line-height:40px;letter-spacing:8px;${mono}">${escapeHtml(part.code)}</p>`
  }
  if ('button' in part) {
    const url = escapeHtml(part.url)
    return `<p style="margin:8px 0 24px"><a href="${url}" style="display:inline-block;padding:12px 24px;background:#1f4fd8;border-radius:8px;color:#ffffff;font-size:16px;line-height:24px;text-decoration:none">${escapeHtml(part.button)}</a></p><p style="margin:0 0 16px;font-size:14px;line-height:20px;color:#5b6470;word-break:break-all">${url}</p>`
  }
  return `<p style="margin:0 0 8px;font-size:14px;line-height:20px;color:#5b6470">${escapeHtml(part.small)}</p>`
}

export const composeMail = (subject: string, parts: Part[]): MailContent => ({
  subject,
  text: `${parts.map(textOf).join('\n\n')}\n`,
  html: `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(subject)}</title></head>
<body style="margin:0;padding:0;background:#f7f8fa;color:#1b1f24;${font}">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="background:#f7f8fa"><tr><td align="center" style="padding:32px 16px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width:480px;background:#ffffff;border:1px solid #e3e6ea;border-radius:12px"><tr><td style="padding:32px">
<p style="margin:0 0 24px;font-size:14px;line-height:20px;font-weight:600;color:#5b6470">Tidings</p>
<h1 style="margin:0 0 16px;font-size:22px;line-height:28px;font-weight:600">${escapeHtml(subject)}</h1>
${parts.map(htmlOf).join('\n')}
</td></tr></table>
</td></tr></table>
</body>
</html>
`,
})

const ignoreIt = { small: 'If you did not ask for this, you can ignore this mail.' }

export const verifyEmailMail = (code: string): MailContent =>
  composeMail('Verify your email address', [
    { say: 'Enter this code to verify your email address.' },
    { code },
    { small: 'The code is valid for 30 minutes and works once.' },
    { small: 'If you did not create an account, you can ignore this mail. Nothing happens without the code.' },
  ])

export const accountExistsMail = (baseUrl: string): MailContent =>
  composeMail('You already have an account', [
    {
      say: 'Someone tried to create an account with your email address. You already have one, so nothing has changed.',
    },
    { button: 'Sign in', url: `${baseUrl}/login` },
    { small: 'If you have forgotten your password, you can reset it there. If this was not you, ignore this mail.' },
  ])

export const loginCodeMail = (code: string): MailContent =>
  composeMail('Your sign-in code', [
    { say: 'Enter this code to finish signing in.' },
    { code },
    { small: 'The code is valid for 10 minutes and works once. Never give it to anyone.' },
    { small: 'If you are not signing in, someone knows your password. Change it now.' },
  ])

export const resetPasswordMail = (baseUrl: string, token: string): MailContent =>
  composeMail('Reset your password', [
    { say: 'Use this link to choose a new password.' },
    { button: 'Choose a new password', url: `${baseUrl}/reset-password?token=${token}` },
    { small: 'The link is valid for 60 minutes and works once.' },
    ignoreIt,
  ])

export const unlockMail = (baseUrl: string, token: string): MailContent =>
  composeMail('Unlock your account', [
    { say: 'Someone has tried many wrong passwords for your account. New browsers cannot sign in at the moment.' },
    { say: 'To sign in now, open this link in the browser that you want to use.' },
    { button: 'Unlock this browser', url: `${baseUrl}/unlock?token=${token}` },
    { small: 'The link is valid for two hours and works once. You still need your password.' },
    { small: 'If you are not signing in, you can ignore this mail. Browsers that you have used before keep working.' },
  ])

export const passwordChangedMail = (baseUrl: string): MailContent =>
  composeMail('Your password was changed', [
    {
      say: 'The password of your account was changed. Your other sessions and the access of programs that you allowed were ended.',
    },
    { say: 'If this was not you, reset your password now.' },
    { button: 'Reset the password', url: `${baseUrl}/forgot-password` },
  ])

/** One text message of one segment. */
export const phoneCodeText = (code: string): string =>
  `${code} is your Tidings code. It is valid for 10 minutes. Never give it to anyone.`
