import { useQueryClient } from '@tanstack/react-query'
import { stepUpPrompt } from '../../api/prompt.ts'
import { sessionQuery } from '../../api/session.ts'
import { shell } from '../../strings/shell.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { StepUpSteps } from './step-up-steps.tsx'

/** Over the page, which stays as it is. Requests that were refused are then sent again. */
const StepUpDialog = () => {
  const client = useQueryClient()
  const done = async () => {
    stepUpPrompt.answer(true)
    await client.invalidateQueries({ queryKey: sessionQuery.queryKey })
  }
  return (
    <Dialog open onClose={() => stepUpPrompt.answer(false)} title={shell.stepUp} description={shell.stepUpWhy}>
      <div className="flex flex-col gap-4">
        <StepUpSteps onDone={() => void done()} />
      </div>
    </Dialog>
  )
}

export default StepUpDialog
