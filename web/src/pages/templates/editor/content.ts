/**
 * What is typed into the editor, outside of React: a key only restarts a timer. Once the typing pauses, the whole content
 * is read once, kept as a draft, and given to the preview.
 */
import type { Template } from '../../../parts/template-data.ts'

export type Part = 'subject' | 'html' | 'text'
export type Parts = Record<Part, string>

export const partNames = ['subject', 'html', 'text'] as const satisfies readonly Part[]

export const partsOf = ({ subject, html, text }: Template): Parts => ({
  subject: subject ?? '',
  html: html ?? '',
  text: text ?? '',
})

/** The parts that differ from what is saved, as the service takes them. */
export const changesIn = (parts: Parts, saved: Template): Partial<Record<Part, string | null>> =>
  Object.fromEntries(
    partNames.filter((name) => parts[name] !== partsOf(saved)[name]).map((name) => [name, parts[name] || null]),
  )

/** Whether somebody else saved other parts in the meantime. A new slug is no reason to stop. */
export const isChangedSince = (base: Parts, saved: Template): boolean => Object.keys(changesIn(base, saved)).length > 0

const pauseMs = 300

export type Content = {
  /** The content at the last pause. The same object until the next one. */
  settled(): Parts
  /** What is typed right now. */
  now(): Parts
  write(part: Part, read: () => string): void
  /** Whether a pause is still awaited. */
  isTyping(): boolean
  subscribe(listener: () => void): () => void
}

export const makeContent = (initial: Parts): Content => {
  const sources: Record<Part, () => string> = {
    subject: () => initial.subject,
    html: () => initial.html,
    text: () => initial.text,
  }
  const listeners = new Set<() => void>()
  let settled = initial
  let timer: ReturnType<typeof setTimeout> | undefined
  const now = (): Parts => ({ subject: sources.subject(), html: sources.html(), text: sources.text() })
  const settle = (): void => {
    timer = undefined
    settled = now()
    for (const listener of listeners) listener()
  }
  return {
    settled: () => settled,
    now,
    write: (part, read) => {
      sources[part] = read
      clearTimeout(timer)
      timer = setTimeout(settle, pauseMs)
    },
    isTyping: () => timer !== undefined,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

const keyOf = (id: string): string => `draft:template:${id}`

/** What is not saved yet, and the saved parts that it was made from. */
export type EditorDraft = { parts: Parts; base: Parts }

export const readDraft = (id: string): EditorDraft | undefined => {
  const stored = sessionStorage.getItem(keyOf(id))
  return stored === null ? undefined : (JSON.parse(stored) as EditorDraft)
}

export const keepDraft = (id: string, draft: EditorDraft | undefined): void => {
  try {
    if (draft === undefined) sessionStorage.removeItem(keyOf(id))
    else sessionStorage.setItem(keyOf(id), JSON.stringify(draft))
  } catch {
    // The storage of the browser is full. The content stays on the page.
  }
}
