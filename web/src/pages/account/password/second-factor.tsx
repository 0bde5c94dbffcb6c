import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { password } from '../../../strings/account.ts'
import { StatusDot } from '../../../ui/badge.tsx'
import { Button } from '../../../ui/button.tsx'
import { DetailList } from '../../../ui/detail-list.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { RelativeTime } from '../../../ui/relative-time.tsx'
import { SecretOnce } from '../../../ui/secret-once.tsx'
import { Skeleton } from '../../../ui/skeleton.tsx'
import { Section } from '../../../ui/templates.tsx'
import { toast } from '../../../ui/toasts.tsx'
import { CodeForm } from './code-form.tsx'
import { FactorSetup } from './factor-setup.tsx'

type Step = 'setup' | 'codes' | 'off'

const useFactor = () =>
  useQuery({ queryKey: ['second-factor'], queryFn: () => unwrap(api.GET('/api/internal/user/2fa')) })

const Buttons = ({ enabled, onStep }: { enabled: boolean; onStep: (step: Step) => void }) =>
  enabled ? (
    <>
      <Button onClick={() => onStep('codes')}>{password.newCodes}</Button>
      <Button look="danger" onClick={() => onStep('off')}>
        {password.turnOff}
      </Button>
    </>
  ) : (
    <Button look="primary" onClick={() => onStep('setup')}>
      {password.setUp}
    </Button>
  )

type DialogsProps = { step: Step | undefined; onClose: () => void; onCodes: (codes: readonly string[]) => void }

const Dialogs = ({ step, onClose, onCodes }: DialogsProps) => {
  const replace = async (code: string) => {
    const { backup_codes } = await unwrap(api.POST('/api/internal/user/2fa/backup-codes', { body: { code } }))
    onCodes(backup_codes)
  }
  const disable = async (code: string) => {
    await unwrap(api.POST('/api/internal/user/2fa/disable', { body: { code } }))
    toast(password.turnedOff)
    onClose()
  }
  return (
    <>
      <Dialog open={step === 'setup'} onClose={onClose} title={password.setUpTitle}>
        <FactorSetup onCodes={onCodes} />
      </Dialog>
      <Dialog open={step === 'codes'} onClose={onClose} title={password.newCodes} description={password.newCodesHelp}>
        <CodeForm action={password.newCodes} onCode={replace} />
      </Dialog>
      <Dialog open={step === 'off'} onClose={onClose} title={password.turnOffTitle} description={password.turnOffHelp}>
        <CodeForm danger action={password.turnOff} onCode={disable} />
      </Dialog>
    </>
  )
}

export const SecondFactor = () => {
  const client = useQueryClient()
  const { data, error } = useFactor()
  const [step, setStep] = useState<Step>()
  const [codes, setCodes] = useState<readonly string[]>()
  const close = () => {
    setStep(undefined)
    setCodes(undefined)
    void client.invalidateQueries({ queryKey: ['second-factor'], exact: true })
    void client.invalidateQueries({ queryKey: ['session'] })
  }
  return (
    <>
      <Section
        title={password.factor}
        description={password.factorHelp}
        actions={data && <Buttons enabled={data.enabled} onStep={setStep} />}
      >
        <ErrorNote error={error} />
        {!data && !error && <Skeleton className="h-5 w-40" />}
        {data && !data.enabled && <StatusDot tone="neutral">{password.off}</StatusDot>}
        {data?.enabled && (
          <DetailList
            facts={[
              { name: password.since, value: <RelativeTime at={data.enabled_at} /> },
              { name: password.codesLeft, value: data.backup_codes_left },
            ]}
          />
        )}
      </Section>
      <Dialogs
        step={codes ? undefined : step}
        onClose={close}
        onCodes={(made) => {
          setCodes(made)
          if (step === 'setup') toast(password.turnedOn)
        }}
      />
      <Dialog
        open={codes !== undefined}
        locked
        onClose={close}
        title={password.backupTitle}
        description={password.backupHelp}
      >
        {codes && (
          <SecretOnce name={password.backupCodes} secret={codes} fileName="tidings-backup-codes.txt" onStored={close} />
        )}
      </Dialog>
    </>
  )
}
