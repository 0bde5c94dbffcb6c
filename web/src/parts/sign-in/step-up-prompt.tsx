/** Lets requests of the page around it ask for a step-up. */
import { lazy, Suspense, useEffect } from 'react'
import { stepUpPrompt } from '../../api/prompt.ts'

const StepUpDialog = lazy(() => import('./step-up-dialog.tsx'))

export const StepUpPrompt = () => {
  const asked = stepUpPrompt.useAsked()
  useEffect(() => {
    stepUpPrompt.enable(true)
    return () => stepUpPrompt.enable(false)
  }, [])
  return <Suspense>{asked && <StepUpDialog />}</Suspense>
}
