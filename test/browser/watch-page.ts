import type { Page } from 'playwright-core'

/** The service refuses what a journey does wrong on purpose. The browser logs such an answer as an error of its own. */
const isRefusal = (text: string, url: string): boolean =>
  /^Failed to load resource: the server responded with a status of 4\d\d/.test(text) && url.includes('/api/')

/** Reports every console error, uncaught exception, blocked resource and request to another origin. */
export const watchPage = (page: Page, origin: string, report: (fault: string) => void): void => {
  page.on('console', (message) => {
    if (message.type() !== 'error' || isRefusal(message.text(), message.location().url)) return
    report(`${page.url()}: ${message.text()}`)
  })
  page.on('pageerror', (error) => report(`${page.url()}: ${error.stack ?? error.message}`))
  page.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith(origin) && !/^(data|blob|about):/.test(url)) report(`${page.url()} requests ${url}`)
  })
}
