/**
 * Runs in the frame that shows mails, which has no access to the dashboard, its cookies or its storage. The dashboard
 * sends a cleaned mail, and this builds it. Laying out a large mail takes longer than a key may wait, and a browser may
 * give the frame no process of its own: the mail appears slice by slice. Built on its own: it can import types only.
 */
import type { CleanMail, Step } from './clean-mail.ts'

export type FrameNews = { kind: 'ready' } | { kind: 'shown'; height: number }

const base = `:root{color-scheme:light;background:#fff}
a[title]{color:#1a56db;text-decoration:underline}
img:not([src]){background:#eee}`

/** In steps. A slice that took long is followed by a smaller one. */
const slices = { first: 40, most: 800, least: 10 }
const [shortMs, longMs] = [8, 24]
/** Of an address with a picture in it. Setting a megabyte takes as long as a thousand steps. */
const charactersPerStep = 1_000

const tell = (news: FrameNews): void => parent.postMessage(news, '*')

const style = document.createElement('style')
document.head.append(style)

const setAttributes = (element: Element, attributes: Record<string, string>): void => {
  for (const name in attributes) element.setAttribute(name, attributes[name] as string)
}

/** Adds the steps one after the other below the body. */
const makeBuilder = () => {
  let into: Element = document.body
  return (step: Step): void => {
    if (step === 0) into = into.parentElement ?? document.body
    else if (typeof step === 'string') into.append(step)
    else {
      const element = document.createElement(step[0])
      setAttributes(element, step[1])
      into.append(element)
      into = element
    }
  }
}

const costOf = (step: Step): number => {
  if (typeof step !== 'object') return 1
  const [, { src = '', style: inline = '' }] = step
  return 1 + (src.length + inline.length) / charactersPerStep
}

const nextTask = (): Promise<unknown> => new Promise((done) => setTimeout(done))

const heightNow = (): number => Math.ceil(document.documentElement.getBoundingClientRect().height)

let latest = 0

const show = async ({ steps, css, body }: CleanMail): Promise<void> => {
  const run = ++latest
  const { scrollY } = window
  style.textContent = `${base}\n${css}`
  for (const { name } of [...document.body.attributes]) document.body.removeAttribute(name)
  setAttributes(document.body, body)
  document.body.replaceChildren()
  const build = makeBuilder()
  let next = 0
  for (let size = slices.first; next < steps.length; ) {
    await nextTask()
    if (run !== latest) return
    const start = performance.now()
    for (let cost = 0; cost < size && next < steps.length; next++) {
      const step = steps[next] as Step
      build(step)
      cost += costOf(step)
    }
    // Lays the slice out now, and not together with the next one.
    heightNow()
    const ms = performance.now() - start
    if (ms > longMs) size = Math.max(slices.least, size >> 1)
    else if (ms < shortMs) size = Math.min(slices.most, size * 2)
  }
  await nextTask()
  if (run !== latest) return
  scrollTo(0, scrollY)
  tell({ kind: 'shown', height: heightNow() })
}

addEventListener('message', ({ source, data }: MessageEvent<CleanMail>) => {
  if (source === parent) void show(data)
})
// A picture that has loaded takes its place.
document.addEventListener('load', () => tell({ kind: 'shown', height: heightNow() }), { capture: true })
tell({ kind: 'ready' })
