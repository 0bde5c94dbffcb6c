import { useState } from 'react'
import { ApiError } from '../../../api/api-error.ts'
import { api, unwrap } from '../../../api/client.ts'
import { enterAt } from '../../../api/enter.ts'
import { useSession, useUser } from '../../../api/session.ts'
import { deletion } from '../../../strings/account.ts'
import { Checkbox } from '../../../ui/checkbox.tsx'
import { SaveForm } from '../../../ui/save-form.tsx'
import { Table } from '../../../ui/table.tsx'
import { Page, Section } from '../../../ui/templates.tsx'
import { TextField } from '../../../ui/text-field.tsx'
import { useSave } from '../../../ui/use-save.ts'

type SoleOrg = { id: string; name: string }

/** The service answers first which organisations would be lost, and deletes nothing until the person agrees. */
const SoleOrgs = ({
  orgs,
  agreed,
  onAgreed,
}: {
  orgs: SoleOrg[]
  agreed: boolean
  onAgreed: (on: boolean) => void
}) => (
  <div role="alert" className="flex flex-col gap-2 rounded-md border border-warn/50 bg-warn-soft px-3 py-2 text-sm">
    <div className="font-medium">{deletion.soleTitle}</div>
    <ul className="list-disc pl-5">
      {orgs.map(({ id, name }) => (
        <li key={id}>{name}</li>
      ))}
    </ul>
    <p>{deletion.soleHelp}</p>
    <Checkbox label={deletion.agree} checked={agreed} onChecked={onAgreed} />
  </div>
)

const DeletionForm = () => {
  const user = useUser()
  const [text, setText] = useState('')
  const [sole, setSole] = useState<SoleOrg[]>()
  const [agreed, setAgreed] = useState(false)
  const form = useSave(async () => {
    const confirmation = user.has_password ? { password: text } : { email: text }
    try {
      await unwrap(api.DELETE('/api/internal/user', { body: { ...confirmation, delete_owned_orgs: agreed } }))
      enterAt('/login')
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 'SOLE_OWNER')) throw error
      setSole(error.body.orgs as SoleOrg[])
    }
  })
  return (
    <Section danger title={deletion.confirm}>
      <SaveForm
        label={deletion.title}
        onSubmit={form.save}
        form={form}
        look="danger"
        disabled={text === '' || (sole !== undefined && !agreed)}
        action={deletion.remove}
      >
        <TextField
          label={user.has_password ? deletion.password : deletion.email(user.email)}
          error={form.fault('password') ?? form.fault('email')}
          type={user.has_password ? 'password' : 'email'}
          autoComplete={user.has_password ? 'current-password' : 'off'}
          value={text}
          onText={setText}
        />
        {sole && <SoleOrgs orgs={sole} agreed={agreed} onAgreed={setAgreed} />}
      </SaveForm>
    </Section>
  )
}

const DeletionPage = () => {
  const orgs = useSession().orgs ?? []
  return (
    <Page title={deletion.title} description={deletion.help} width="form">
      <Section title={deletion.orgs} description={deletion.orgsHelp}>
        <Table
          label={deletion.orgs}
          rows={orgs}
          rowKey={({ id }) => id}
          columns={[
            { id: 'name', header: deletion.organisation, cell: ({ name }) => name },
            { id: 'role', header: deletion.role, className: 'w-32 capitalize', cell: ({ role }) => role },
          ]}
          empty={<p className="text-sm">{deletion.none}</p>}
        />
      </Section>
      <DeletionForm />
    </Page>
  )
}

export default DeletionPage
