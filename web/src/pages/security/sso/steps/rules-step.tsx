import { useState } from 'react'
import { useRefusal } from '../../../../api/can.ts'
import { type SsoChange, type SsoSettings, type StepProps, usePutSso } from '../../../../parts/sso-settings.ts'
import { sso } from '../../../../strings/sso.ts'
import { ui } from '../../../../strings/ui.ts'
import { ErrorNote } from '../../../../ui/error-note.tsx'
import { optionsOf } from '../../../../ui/select.tsx'
import { Switch } from '../../../../ui/switch.tsx'
import { Section } from '../../../../ui/templates.tsx'
import { SelectField } from '../../../../ui/text-field.tsx'
import { toast } from '../../../../ui/toasts.tsx'
import { DeleteConnection } from './delete-connection.tsx'
import { Enforcement } from './enforcement.tsx'

/** Each choice is saved at once. */
const Newcomers = ({ settings }: { settings: SsoSettings }) => {
  const { jit_provisioning, default_role, allow_idp_initiated, protocol } = settings
  const [error, setError] = useState<unknown>()
  const put = usePutSso()
  const refusal = useRefusal('requireOwnerSession')
  const off = refusal !== undefined
  const save = async (body: SsoChange) => {
    setError(undefined)
    try {
      await put(body)
      toast(ui.saved)
    } catch (fault) {
      setError(fault)
    }
  }
  return (
    <div className="flex max-w-md flex-col gap-4">
      <Switch
        label={sso.jit}
        help={sso.jitHelp}
        checked={jit_provisioning}
        disabled={off}
        onChecked={(on) => void save({ jit_provisioning: on })}
      />
      <SelectField
        label={sso.defaultRole}
        help={refusal}
        value={default_role}
        disabled={off}
        onValue={(role) => void save({ default_role: role as keyof typeof sso.roles })}
        options={optionsOf(sso.roles)}
      />
      {protocol === 'saml' && (
        <Switch
          label={sso.idpInitiated}
          help={sso.idpInitiatedHelp}
          checked={allow_idp_initiated}
          disabled={off}
          onChecked={(on) => void save({ allow_idp_initiated: on })}
        />
      )}
      <ErrorNote error={error} />
    </div>
  )
}

export const RulesStep = ({ settings }: StepProps) => {
  if (settings.protocol === null) return <Section title={sso.rulesTitle} description={sso.setUpFirst} />
  return (
    <div className="flex flex-col gap-4">
      <Section title={sso.rulesTitle}>
        <Newcomers settings={settings} />
      </Section>
      <Enforcement settings={settings} />
      <DeleteConnection />
    </div>
  )
}
