/** What is typed into a form. It survives a reload of the page, and is forgotten once it has been sent. */
import { useEffect, useState } from 'react'

/** The same in memory only, for what must not be stored and for what the service has already. */
export const useFields = <T extends object>(initial: T) => {
  const [value, setValue] = useState(initial)
  return { value, change: (part: Partial<T>) => setValue((now) => ({ ...now, ...part })) }
}

export const useDraft = <T extends object>(name: string, initial: T) => {
  const key = `draft:${name}`
  const [value, setValue] = useState<T>(() => {
    const stored = sessionStorage.getItem(key)
    return stored === null ? initial : { ...initial, ...(JSON.parse(stored) as Partial<T>) }
  })
  useEffect(() => {
    sessionStorage.setItem(key, JSON.stringify(value))
  }, [key, value])
  return {
    value,
    change: (part: Partial<T>) => setValue((now) => ({ ...now, ...part })),
    forget: () => {
      sessionStorage.removeItem(key)
      setValue(initial)
    },
  }
}
