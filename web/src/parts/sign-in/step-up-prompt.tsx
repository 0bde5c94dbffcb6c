/** Lets requests of the page around it ask for a step-up. */
import { lazy, Suspense, useEffect } from 'react'
import { enableStepUpPrompt, useStepUpAsked } from '../api/step-up.ts'

const StepUpDialog = lazy(() => import('./step-up-dialog.tsx'))

export const StepUpPrompt = () => {
  const asked = useStepUpAsked()
  useEffect(() => {
    enableStepUpPrompt(true)
    return () => enableStepUpPrompt(false)
  }, [])
  return <Suspense>{asked && <StepUpDialog />}</Suspense>
}
