/** Renders a typical page of a shop with our language or with Handlebars, from the same source and values. */
import Handlebars from 'handlebars'
import { compile, type TemplateVariables } from '../../src/sending/templates/language.ts'
import { workBench } from './work.ts'

const styles = 'font-family:Helvetica,Arial,sans-serif;font-size:14px;line-height:20px;color:#333333'
const filler = `<p style="${styles}">Thank you for shopping with us. Our shop is open every day from nine to six.</p>\n`

const page = `<!doctype html><html><head><title>{{subject}}</title></head><body style="${styles}">
<h1>Hello {{first_name}} {{last_name}}</h1>
${filler.repeat(9)}<p>Your order {{order_id}} of {{ordered_on}} goes to {{address.street}}, {{address.city}}.</p>
{{#if express}}<p>It comes by express and should arrive on {{arrives_on}}.</p>{{else}}<p>It comes by post.</p>{{/if}}
<table>{{#each items}}<tr><td>{{@index}}</td><td>{{name}}</td><td>{{quantity}}</td><td>{{price}}</td></tr>
{{/each}}</table>
{{#if note}}<blockquote>{{note}}</blockquote>{{/if}}
${filler.repeat(9)}<p>The total is {{total}}.</p></body></html>
`

/** Different values for each page, as in separate messages; some contain characters to escape. */
const variablesOf = (n: number): TemplateVariables => ({
  subject: `Order ${n}`,
  first_name: 'Ann',
  last_name: "O'Neill",
  order_id: n,
  ordered_on: '5 January',
  address: { street: '1 Main Street', city: 'Springfield' },
  express: n % 2 === 0,
  arrives_on: '7 January',
  note: 'Ring twice & leave it at the <gate>',
  total: '199.00',
  items: Array.from({ length: 20 }, (_, i) => ({ name: `Thing ${i}`, quantity: i + 1, price: '9.95' })),
})

const pages = 100
const values = Array.from({ length: pages }, (_, n) => variablesOf(n))

const renderers: Record<'ours' | 'handlebars', () => (variables: TemplateVariables) => string> = {
  ours: () => compile(page, { html: true }).render,
  handlebars: () => Handlebars.compile(page),
}

/** Checks that both render the same page, except for one entity that they write differently. */
const checkSameOutput = (): void => {
  const normalised = (text: string) => text.replaceAll('&#x27;', '&#39;')
  for (const variables of values) {
    const [one, other] = [renderers.ours()(variables), normalised(renderers.handlebars()(variables))]
    if (one !== other || one.length < 4_000) throw new Error('the contenders render different pages')
  }
}

workBench(async ({ by }: { by: 'ours' | 'handlebars' }) => {
  checkSameOutput()
  const render = renderers[by]()
  return {
    one: async () => {
      // Encodes the result as a response would, because V8 concatenates strings lazily.
      for (const variables of values) Buffer.from(render(variables))
    },
    close: async () => undefined,
  }
})
