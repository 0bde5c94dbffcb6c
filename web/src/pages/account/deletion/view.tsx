import { useState } from 'react'
import { ApiError } from '../../../api/api-error.ts'
import { api, unwrap } from '../../../api/client.ts'
import { useSession, useUser } from '../../../api/session.ts'
import { deletion } from '../../../strings/account.ts'
import { Button } from '../../../ui/button.tsx'
import { Checkbox } from '../../../ui/checkbox.tsx'
import { Field } from '../../../ui/field.tsx'
import { Input } from '../../../ui/input.tsx'
import { Table } from '../../../ui/table.tsx'
import { Form, Page, Section } from '../../../ui/templates.tsx'
import { enterAt } from '../../sign-in/enter.ts'
import { useSubmit } from '../../sign-in/use-submit.ts'

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
  const form = useSubmit()
  const remove = () =>
    form.submit(async () => {
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
      <Form
        label={deletion.title}
        onSubmit={remove}
        error={form.rest}
        actions={
          <Button
            type="submit"
            look="danger"
            busy={form.busy}
            disabled={text === '' || (sole !== undefined && !agreed)}
          >
            {deletion.remove}
          </Button>
        }
      >
        <Field
          label={user.has_password ? deletion.password : deletion.email(user.email)}
          error={form.fault('password') ?? form.fault('email')}
        >
          <Input
            type={user.has_password ? 'password' : 'email'}
            autoComplete={user.has_password ? 'current-password' : 'off'}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        </Field>
        {sole && <SoleOrgs orgs={sole} agreed={agreed} onAgreed={setAgreed} />}
      </Form>
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
