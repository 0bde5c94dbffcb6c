/**
 * Makes the HTML of a mail safe to show. Scripts, remote pictures and links are removed. The content security policy of the
 * dashboard refuses inline styles, so they are taken out here and applied through the style sheets of the frame.
 */
export type SafeMail = { html: string; css: string; blocked: number }

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
  return { html: `<!doctype html>${document.documentElement.outerHTML}`, css: withoutUrls(css), blocked }
}

const base = 'a[title]{color:#1a56db;text-decoration:underline}img:not([src]){background:#eee}'

const sliceMs = 10

/**
 * Puts the styles back. Style sheets that a script makes are not inline. A large mail is styled in slices, because the
 * person may type in the page around it.
 */
export const applyStyles = async (frame: HTMLIFrameElement, css: string): Promise<void> => {
  const { contentDocument: document, contentWindow: view } = frame
  if (!document || !view) return
  const Sheet = (view as unknown as typeof globalThis).CSSStyleSheet
  const sheet = new Sheet()
  sheet.replaceSync(`${base}\n${css}`)
  document.adoptedStyleSheets = [sheet]
  document.documentElement.style.colorScheme = 'light'
  let end = performance.now() + sliceMs
  for (const element of document.querySelectorAll<HTMLElement>('[data-mail-style]')) {
    element.style.cssText = withoutUrls(element.dataset.mailStyle ?? '')
    if (performance.now() < end) continue
    await new Promise((done) => setTimeout(done))
    end = performance.now() + sliceMs
  }
}
