import { Search } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { Input } from './input.tsx'

type Props = { label: string; value: string; onValue: (value: string) => void }

const pauseMs = 300

/** Searches when the typing pauses, and at once with Enter. `/` moves the focus here. */
export const SearchInput = ({ label, value, onValue }: Props) => {
  const [typed, setTyped] = useState(value)
  const sent = useRef(value)
  const search = (text: string) => {
    sent.current = text
    onValue(text)
  }
  // A value from elsewhere, such as a cleared filter. The own value arrives while the person types on.
  useEffect(() => {
    if (value === sent.current) return
    sent.current = value
    setTyped(value)
  }, [value])
  // biome-ignore lint/correctness/useExhaustiveDependencies: only typing starts the pause
  useEffect(() => {
    if (typed === sent.current) return
    const timer = setTimeout(() => search(typed), pauseMs)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <span className="relative w-full sm:w-80">
      <Search aria-hidden className="pointer-events-none absolute top-2 left-2.5 size-4 text-faint" />
      <Input
        type="search"
        data-page-search
        aria-label={label}
        placeholder={label}
        maxLength={200}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') search(typed)
        }}
        className="pl-8"
      />
    </span>
  )
}
