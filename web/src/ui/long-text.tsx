/** A browser takes seconds to lay out a text of megabytes, so its beginning is shown and the whole can be saved. */
import { Download } from 'lucide-react'
import { ui } from '../strings/ui.ts'
import { Button } from './button.tsx'
import { download } from './download.ts'

const shownCharacters = 100_000

export const beginningOf = (text: string): string => text.slice(0, shownCharacters)

export const RestNote = ({ text }: { text: string }) =>
  text.length <= shownCharacters ? null : (
    <div className="flex flex-wrap items-center justify-between gap-2 border-t px-3 py-1.5 text-muted text-xs">
      {ui.cutText(shownCharacters)}
      <Button
        look="quiet"
        size="small"
        icon={<Download aria-hidden className="size-3.5" />}
        onClick={() => download('text.txt', text)}
      >
        {ui.downloadAll}
      </Button>
    </div>
  )
