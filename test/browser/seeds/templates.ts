import { askWith, signIn } from '../../clients/people.ts'
import type { Seed } from '../every-page.ts'

const html = `<!doctype html>
<html>
  <head>
    <style>
      body { font: 14px/20px sans-serif; background: #f4f4f7; padding: 24px }
      .card { background: #fff; border-radius: 6px; padding: 24px; max-width: 480px; margin: auto }
    </style>
  </head>
  <body>
    <div class="card">
      {{! the logo goes here }}
      <h1>Your order has shipped</h1>
      <p>Hello {{customer.name}}, parcel {{parcel}} arrives tomorrow.</p>
      {{#each items}}<p>{{this.count}} × {{this.title}}</p>{{/each}}
      <p><a href="{{link}}" style="color: #4f46e5">Follow it</a></p>
    </div>
  </body>
</html>
`

/** An email with a problem and variables, and a text message. */
const seedTemplates: Seed = async ({ t, people }) => {
  const cookie = await signIn(t, people.owner.userId)
  const post = async (body: object): Promise<string> => {
    const reply = await askWith(t, cookie, 'POST', '/api/internal/templates', { body })
    if (reply.status !== 201) throw new Error(reply.text)
    return reply.body.id
  }
  await post({ slug: 'login-code', channel: 'sms', text: 'Your code is {{code}}.' })
  const subject = 'Parcel {{parcel}} is on its way'
  const id = await post({ slug: 'order-shipped', channel: 'email', subject, html, text: 'Parcel {{parcel}}' })
  return { '/templates': ['/templates', '/templates?create=1'], '/templates/$id': [`/templates/${id}`] }
}

export default seedTemplates
