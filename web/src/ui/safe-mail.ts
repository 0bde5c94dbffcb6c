/**
 * Makes the HTML of a mail safe to show. Scripts, remote pictures and links are removed. The content security policy of the
 * dashboard refuses inline styles, so they are taken out here and applied through the style sheets of the frame.
 */
export type SafeMail = { root: HTMLElement; css: string; blocked: number }

const cssType = 'text/x-mail-css'
const unwanted =
  'script, link, meta[http-equiv], base, iframe, frame, object, embed, form input[type=submit], video, audio'

/** Renamed before they are parsed: the policy reports styles and handlers of documents without a window too. */
const withoutInline = (html: string): string =>
  html
    .replace(/<style\b[^>]*>/gi, `<script type="${cssType}">`)
    .replace(/<\/style\s*>/gi, '</script>')
    .replace(/<[a-z][^>]*>/gi, (tag) => tag.replace(/(["'\s/])(style|on\w+)(\s*=)/gi, '$1data-mail-$2$3'))

const withoutUrls = (css: string): string => css.replace(/url\((?!\s*['"]?data:)[^)]*\)/gi, 'none')

const dropAttributes = (element: Element): void => {
  for (const { name } of [...element.attributes]) {
    if (/^(srcset|background|action|ping|formaction)$/i.test(name)) element.removeAttribute(name)
  }
}

const disableLinks = (document: Document): void => {
  for (const link of document.querySelectorAll('[href]')) {
    link.setAttribute('title', link.getAttribute('href') ?? '')
    link.removeAttribute('href')
  }
}

const blockPictures = (document: Document): number => {
  const remote = [...document.querySelectorAll('[src]')].filter(
    (element) => !/^(data:image\/|cid:)/i.test(element.getAttribute('src') ?? ''),
  )
  const visible = remote.filter((element) => element.getAttribute('width') !== '1')
  for (const element of document.querySelectorAll('[src^="cid:" i]')) element.removeAttribute('src')
  for (const element of remote) element.removeAttribute('src')
  return visible.length
}

export const safeMail = (source: string): SafeMail => {
  const document = new DOMParser().parseFromString(withoutInline(source), 'text/html')
  const css = [...document.querySelectorAll(`script[type="${cssType}"]`)]
    .map(({ textContent }) => textContent)
    .join('\n')
  for (const element of document.querySelectorAll(unwanted)) element.remove()
  for (const element of document.querySelectorAll('*')) dropAttributes(element)
  disableLinks(document)
  const blocked = blockPictures(document)
  return { root: document.documentElement, css: withoutUrls(css), blocked }
}

const base = 'a[title]{color:#1a56db;text-decoration:underline}img:not([src]){background:#eee}'
const hiding = '[data-mail-later]{display:none!important}'

/** How many elements are styled and laid out before the page around the mail gets its turn again. */
const slice = 100

const styleElement = (element: HTMLElement): void => {
  const { mailStyle } = element.dataset
  if (mailStyle) element.style.cssText = withoutUrls(mailStyle)
}

/**
 * Shows the mail in the frame and puts its styles back. Style sheets that a script makes are not inline. Laying out a large
 * mail takes longer than a key may wait, and the person may type in the page around it: it appears slice by slice.
 */
export const showMail = async (frame: HTMLIFrameElement, { root, css }: SafeMail, signal: AbortSignal) => {
  const { contentDocument: document, contentWindow: view } = frame
  if (!document || !view) return
  const Sheet = (view as unknown as typeof globalThis).CSSStyleSheet
  const sheet = new Sheet()
  sheet.replaceSync(`${base}\n${css}\n${hiding}`)
  const { scrollY } = view
  const copy = document.importNode(root, true)
  copy.style.colorScheme = 'light'
  const elements = [...copy.querySelectorAll<HTMLElement>('*')]
  for (const element of elements.slice(slice)) element.dataset.mailLater = ''
  for (const element of elements.slice(0, slice)) styleElement(element)
  document.adoptedStyleSheets = [sheet]
  document.replaceChild(copy, document.documentElement)
  for (let at = slice; at < elements.length; at += slice) {
    await new Promise((done) => setTimeout(done))
    if (signal.aborted) return
    for (const element of elements.slice(at, at + slice)) {
      styleElement(element)
      delete element.dataset.mailLater
    }
    // Reading the height lays the slice out now, and not together with the next one.
    void copy.offsetHeight
  }
  view.scrollTo(0, scrollY)
}
