/** Short messages about what has just happened, with an undo where there is one. */
import { Toast } from '@base-ui/react/toast'
import { CircleCheck, TriangleAlert, X } from 'lucide-react'
import { ApiError, messageOf } from '../api/api-error.ts'
import { ui } from '../strings/ui.ts'

const manager = Toast.createToastManager()

type Options = { description?: string; undo?: () => void }

export const toast = (title: string, { description, undo }: Options = {}): void => {
  const id = manager.add({
    title,
    description,
    type: 'done',
    timeout: undo ? 8_000 : 4_000,
    ...(undo && {
      actionProps: {
        children: ui.undo,
        onClick: () => {
          manager.close(id)
          undo()
        },
      },
    }),
  })
}

/** For a failure without a field or form to show it at. */
export const toastError = (error: unknown, title: string = ui.failed): void => {
  const id = error instanceof ApiError && error.requestId ? ` (${error.requestId})` : ''
  manager.add({ title, description: messageOf(error) + id, type: 'failed', timeout: 10_000, priority: 'high' })
}

const List = () => {
  const { toasts } = Toast.useToastManager()
  return toasts.map((item) => (
    <Toast.Root
      key={item.id}
      toast={item}
      className="fade pointer-events-auto flex w-full items-start gap-2 rounded-md border bg-raised p-3 text-sm shadow-lg"
    >
      {item.type === 'failed' ? (
        <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />
      ) : (
        <CircleCheck aria-hidden className="mt-0.5 size-4 shrink-0 text-ok" />
      )}
      <div className="min-w-0 flex-1">
        {/* A heading by default, which would stand among those of the page while it is shown. */}
        <Toast.Title render={<div />} className="font-medium" />
        <Toast.Description className="text-muted break-words" />
      </div>
      {item.actionProps && <Toast.Action className="rounded-sm px-2 font-medium text-accent hover:bg-hover" />}
      <Toast.Close aria-label={ui.close} className="rounded-sm text-faint hover:bg-hover">
        <X aria-hidden className="size-4" />
      </Toast.Close>
    </Toast.Root>
  ))
}

export const Toasts = () => (
  <Toast.Provider toastManager={manager}>
    <Toast.Portal>
      <Toast.Viewport className="pointer-events-none fixed right-4 bottom-4 z-50 flex w-[calc(100vw-32px)] max-w-sm flex-col gap-2">
        <List />
      </Toast.Viewport>
    </Toast.Portal>
  </Toast.Provider>
)
