import { useQueryClient } from '@tanstack/react-query'
import { signInPrompt } from '../api/prompt.ts'
import { sessionQuery } from '../api/session.ts'
import { SignInSteps } from '../parts/sign-in/sign-in-steps.tsx'
import { shell } from '../strings/shell.ts'
import { Dialog } from '../ui/dialog.tsx'

/** Over the page, which stays as it is. Requests that were refused are then sent again. */
const SignInAgain = () => {
  const client = useQueryClient()
  return (
    <Dialog
      open
      onClose={() => signInPrompt.answer(false)}
      title={shell.signInAgain}
      description={shell.signInAgainWhy}
    >
      <div className="flex flex-col gap-4">
        <SignInSteps
          onDone={async () => {
            signInPrompt.answer(true)
            await client.invalidateQueries({ queryKey: sessionQuery.queryKey })
          }}
        />
      </div>
    </Dialog>
  )
}

export default SignInAgain
