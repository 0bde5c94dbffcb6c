/** Finds messages from the command palette: by id, or by the address or number of a recipient. */
import { router } from '../../router.tsx'
import { addFinder, type Command } from '../../shell/commands.ts'
import { messages } from '../../strings/messages.ts'

const goTo = (search: Record<string, string>) => () => router.navigate({ to: '/messages', search: search as never })

const commandFor = (typed: string): Command | undefined => {
  const group = messages.findGroup
  if (/^msg_\w+$/.test(typed)) {
    return { id: 'message', group, label: messages.findId(typed), run: goTo({ open: typed }) }
  }
  if (/^\S+@\S*$|^\+\d{3,}$/.test(typed)) {
    return { id: 'messages', group, label: messages.findText(typed), run: goTo({ q: typed }) }
  }
  return undefined
}

addFinder((typed) => {
  const command = commandFor(typed)
  return command ? [command] : []
})
