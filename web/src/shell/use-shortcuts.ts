/** ⌘K, `/`, `?`, and `g` followed by the letter of a page. */
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { railEntries } from '../pages/rail-map.ts'
import { pageOf } from '../pages/registry.ts'

/** The target of an event from a shadow root is its host, so the path says where the person types. */
const isTyping = (event: KeyboardEvent): boolean => {
  const [target] = event.composedPath()
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
}

export const jumps = (): { keys: string; label: string; path: string }[] =>
  railEntries()
    .flatMap((entry) => [entry, ...entry.children])
    .flatMap(({ id, keys, label }) => {
      const path = pageOf(id)?.path
      return keys && path ? [{ keys, label, path }] : []
    })

const focusSearch = (): boolean => {
  const field = document.querySelector<HTMLElement>('main [data-page-search], main search input')
  field?.focus()
  return field !== null
}

type Needs = { onPalette: () => void; onHelp: () => void }

export const useShortcuts = ({ onPalette, onHelp }: Needs): void => {
  const navigate = useNavigate()
  const jumping = useRef(false)
  useEffect(() => {
    const jump = (key: string): void => {
      const target = jumps().find(({ keys }) => keys === key)
      if (target) void navigate({ to: target.path })
    }
    const onKey = (event: KeyboardEvent): void => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        onPalette()
        return
      }
      const modal = document.querySelector('[role="dialog"]')
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event) || modal) return
      if (jumping.current) {
        jumping.current = false
        jump(event.key)
      } else if (event.key === 'g') {
        jumping.current = true
        setTimeout(() => {
          jumping.current = false
        }, 1_200)
      } else if (event.key === '?') onHelp()
      else if (event.key === '/') {
        event.preventDefault()
        if (!focusSearch()) onPalette()
      }
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  })
}
