/** The script that a page of the dashboard starts with. Its name has a hash, so each build has another one. */
const entryOf = (page: string): string | undefined => /<script type="module"[^>]* src="([^"]+)"/.exec(page)?.[1]

/**
 * After an upgrade, an open page asks for files of the build before, which are gone. Loads the page again if the service
 * has another build by now, and at most once for each: while an upgrade rolls, processes with either may answer.
 */
export const loadNewerBuild = async (): Promise<void> => {
  const reply = await fetch('/', { headers: { accept: 'text/html' }, cache: 'no-store' })
  const entry = reply.ok ? entryOf(await reply.text()) : undefined
  if (entry === undefined || entry === entryOf(document.documentElement.outerHTML)) return
  const key = `loaded:${entry}`
  if (sessionStorage.getItem(key) !== null) return
  sessionStorage.setItem(key, '')
  location.reload()
}
