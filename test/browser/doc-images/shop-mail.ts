/** The template of the images, and a mail that it makes. */
const head = `<!doctype html>
<html>
  <head>
    <style>
      body { margin: 0; padding: 32px 16px; background: #f4f4f7 }
      .card { max-width: 480px; margin: auto; padding: 32px;
              background: #fff; border-radius: 8px }
      h1 { margin: 0 0 12px; font: 600 22px sans-serif }
      p { font: 15px/24px sans-serif; color: #444 }
    </style>
  </head>
  <body>
    <div class="card">`

const end = `
    </div>
  </body>
</html>
`

const button =
  'display: inline-block; padding: 10px 18px; border-radius: 6px; background: #4f46e5; color: #fff; text-decoration: none'

export const templateHtml = `${head}
      <h1>Your order has shipped</h1>
      <p>Hello {{name}}, order {{order}} arrives on {{day}}.</p>
      {{#each items}}
      <p>{{this.count}} × {{this.title}}</p>
      {{/each}}
      <p><a href="{{link}}" style="${button}">Follow it</a></p>${end}`

export const templateVariables = `{ "name": "Sofia", "order": "10482", "day": "Thursday",
  "items": [{ "count": 1, "title": "Oak shelf" },
            { "count": 2, "title": "Linen cushion" }],
  "link": "https://northwind.example/orders/10482" }`

export const mailHtml = `${head}
      <h1>Your order has shipped</h1>
      <p>Hello Sofia, order 10482 arrives on Thursday.</p>
      <p>1 × Oak shelf</p>
      <p>2 × Linen cushion</p>
      <p><a href="https://northwind.example/orders/10482" style="${button}">Follow it</a></p>${end}`
