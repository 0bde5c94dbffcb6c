/**
 * After an upgrade, an open page asks for files of the build before, which are gone. Loads the page again if the service
 * has another build by now, and at most once for each: while an upgrade rolls, processes with either may answer.
 */
export const loadNewerBuild = async (): Promise<void> => {
  const reply = await fetch('/', { headers: { accept: 'text/html' }, cache: 'no-store' })
  // The name of the first script has a hash, so each build has another one.
  const entry = /<script type="module"[^>]* src="([^"]+)"/.exec(await reply.text())?.[1]
  const ownEntry = document.querySelector('script[type="module"]')?.getAttribute('src')
  if (entry === undefined || entry === ownEntry) return
  const key = `loaded:${entry}`
  if (sessionStorage.getItem(key) !== null) return
  sessionStorage.setItem(key, '')
  location.reload()
}
