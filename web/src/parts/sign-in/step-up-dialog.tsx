import { useQueryClient } from '@tanstack/react-query'
import { sessionQuery } from '../api/session.ts'
import { answerStepUp } from '../api/step-up.ts'
import { StepUpSteps } from '../pages/sign-in/step-up-steps.tsx'
import { shell } from '../strings/shell.ts'
import { Dialog } from '../ui/dialog.tsx'

/** Over the page, which stays as it is. Requests that were refused are then sent again. */
const StepUpDialog = () => {
  const client = useQueryClient()
  const done = async () => {
    answerStepUp(true)
    await client.invalidateQueries({ queryKey: sessionQuery.queryKey })
  }
  return (
    <Dialog open onClose={() => answerStepUp(false)} title={shell.stepUp} description={shell.stepUpWhy}>
      <div className="flex flex-col gap-4">
        <StepUpSteps onDone={() => void done()} />
      </div>
    </Dialog>
  )
}

export default StepUpDialog
