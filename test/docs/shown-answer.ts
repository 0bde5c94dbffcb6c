/**
 * Compares a response with what a page shows of it. Ids, times, secrets and cursors differ from run to run. An ellipsis
 * stands for text, for further elements of a list or, as a key, for further fields.
 */
type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

const ellipsis = '…'

const masked = (text: string): string =>
  text
    .replace(/(?<![a-z])([a-z]{3})_(?:[0-9a-z]{26}\b|[0-9a-z]*…)/g, '$1_…')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, 'a time')
    .replace(/^\d{4}-\d\d(?:-\d\d)?$/, 'a date')

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

const sameText = (shown: string, given: string): boolean => {
  const pattern = masked(shown).split(ellipsis).map(escaped).join('.*')
  return new RegExp(`^${pattern}$`, 's').test(masked(given))
}

const kindOf = (value: Json | undefined): string =>
  value === null ? 'null' : Array.isArray(value) ? 'list' : value === undefined ? 'nothing' : typeof value

/** The places where a response is not what the page shows. */
export const differences = (shown: Json, given: Json | undefined, path = 'body'): string[] => {
  if (kindOf(shown) !== kindOf(given)) return [`${path}: shown ${kindOf(shown)}, is ${kindOf(given)}`]
  if (Array.isArray(shown)) {
    const list = given as Json[]
    const open = shown.at(-1) === ellipsis
    const items = open ? shown.slice(0, -1) : shown
    if (open ? list.length < items.length : list.length !== items.length) {
      return [`${path}: shown ${items.length} elements, is ${list.length}`]
    }
    return items.flatMap((item, i) => differences(item, list[i], `${path}[${i}]`))
  }
  if (typeof shown === 'object' && shown !== null) {
    const object = given as Record<string, Json>
    const names = Object.keys(shown).filter((name) => name !== ellipsis)
    const more = ellipsis in shown ? [] : Object.keys(object).filter((name) => !(name in shown))
    return [
      ...more.map((name) => `${path}.${name}: is not shown`),
      ...names.flatMap((name) => differences(shown[name] as Json, object[name], `${path}.${name}`)),
    ]
  }
  if (typeof shown === 'string') return sameText(shown, given as string) ? [] : [`${path}: shown ${shown}, is ${given}`]
  return shown === given ? [] : [`${path}: shown ${shown}, is ${given}`]
}
