import { cleanMail, type MailSource } from './clean-mail.ts'

addEventListener('message', ({ data }: MessageEvent<MailSource>) => postMessage(cleanMail(data)))
