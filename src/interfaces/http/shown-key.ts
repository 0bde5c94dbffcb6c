import { CreatedKey, Key } from '../../customers/keys/shapes.ts'
import type { KeyRow } from '../../customers/keys/store.ts'
import { resource, shownAs } from './shown-resource.ts'

/** A key as the API and the dashboard show it. Only the response that creates a key contains its secret. */
export const shownKey = shownAs(Key)

export const keys = resource({ kind: 'key', one: 'API key', many: 'API keys', item: Key, show: shownKey })

/** A new key, with its secret. */
export const newKeys = resource({
  ...keys,
  item: CreatedKey,
  show: ({ row, key }: { row: KeyRow; key: string }) => {
    const { id, name, environment, ...rest } = shownKey(row)
    return { id, name, environment, key, ...rest }
  },
})
