/** The variables of a template, as somebody types them. */
import { editor } from '../strings/templates.ts'

export type Variables = Record<string, unknown>

type Read = { variables: Variables; fault?: undefined } | { variables?: undefined; fault: string }

export const readVariables = (text: string): Read => {
  if (text.trim() === '') return { variables: {} }
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return { fault: editor.notObject }
    return { variables: value as Variables }
  } catch (error) {
    return { fault: editor.notJson((error as Error).message) }
  }
}
