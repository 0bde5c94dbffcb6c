/** State in the URL: filters, the open tab and the open detail. A link to the page restores all of it. */
import { useSearch } from '@tanstack/react-router'
import { useNavigateFromHere } from './use-navigate-from-here.ts'

type Values = Record<string, string>

/** Values equal to the defaults are left out of the URL. */
export const useFilters = <D extends Values>(defaults: D): [D, (change: Partial<D>) => void] => {
  const search = useSearch({ strict: false }) as Values
  const navigate = useNavigateFromHere()
  const values = Object.fromEntries(Object.keys(defaults).map((name) => [name, search[name] ?? defaults[name]])) as D
  // Works on the URL as it is at that time: a search that waited for a pause must not undo what was opened meanwhile.
  const merged = (changed: Partial<D>, now: Values): Values => {
    const next: Values = { ...now }
    for (const [name, value] of Object.entries(changed)) {
      if (value === undefined || value === '' || value === defaults[name]) delete next[name]
      else next[name] = value
    }
    return next
  }
  const change = (changed: Partial<D>): void => {
    const next = (now: Values): Values => merged(changed, now)
    void navigate({ to: '.', search: next, replace: true, resetScroll: false })
  }
  return [values, change]
}
