import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import type { operations } from '../../../api/schema.gen.ts'
import { useSession } from '../../../api/session.ts'
import { profile } from '../../../strings/account.ts'
import { ui } from '../../../strings/ui.ts'
import { StatusDot } from '../../../ui/badge.tsx'
import { Button } from '../../../ui/button.tsx'
import { Copyable } from '../../../ui/copy-button.tsx'
import { DetailList } from '../../../ui/detail-list.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { Field } from '../../../ui/field.tsx'
import { Input } from '../../../ui/input.tsx'
import { RelativeTime } from '../../../ui/relative-time.tsx'
import { Select } from '../../../ui/select.tsx'
import { Skeleton } from '../../../ui/skeleton.tsx'
import { Form, Page, Section } from '../../../ui/templates.tsx'
import { toast } from '../../../ui/toasts.tsx'
import { useSubmit } from '../../sign-in/use-submit.ts'

type Profile = operations['getApiInternalUser']['responses'][200]['content']['application/json']

const Verified = ({ text, verified }: { text: string; verified: boolean }) => (
  <span className="flex flex-wrap items-center gap-x-3">
    <Copyable text={text} />
    <StatusDot tone={verified ? 'ok' : 'warn'}>{verified ? profile.verified : profile.notVerified}</StatusDot>
  </span>
)

const Editor = ({ user }: { user: Profile }) => {
  const client = useQueryClient()
  const orgs = useSession().orgs ?? []
  const [name, setName] = useState(user.name)
  const [orgId, setOrgId] = useState(user.default_org_id ?? orgs[0]?.id ?? '')
  const form = useSubmit()
  const save = () =>
    form.submit(async () => {
      const body = { name, ...(orgId && { default_org_id: orgId }) }
      await unwrap(api.PATCH('/api/internal/user', { body }))
      toast(profile.saved)
      await Promise.all([['session'], ['profile'], ['team']].map((queryKey) => client.invalidateQueries({ queryKey })))
    })
  return (
    <Section title={profile.title}>
      <Form
        label={profile.title}
        onSubmit={save}
        error={form.rest}
        actions={
          <Button type="submit" look="primary" busy={form.busy}>
            {ui.save}
          </Button>
        }
      >
        <Field label={profile.name} error={form.fault('name')}>
          <Input value={name} autoComplete="name" onChange={(event) => setName(event.target.value)} />
        </Field>
        {orgs.length > 1 && (
          <Field label={profile.defaultOrg} help={profile.defaultOrgHelp} error={form.fault('default_org_id')}>
            <Select
              className="w-full"
              options={orgs.map((org) => ({ value: org.id, label: org.name }))}
              value={orgId}
              onValue={setOrgId}
            />
          </Field>
        )}
      </Form>
      <div className="mt-6 border-t pt-4">
        <DetailList
          facts={[
            { name: profile.email, value: <Verified text={user.email} verified={user.email_verified} /> },
            { name: profile.phone, value: user.phone && <Verified text={user.phone} verified={user.phone_verified} /> },
            { name: profile.id, value: <Copyable text={user.id} /> },
            { name: profile.created, value: <RelativeTime at={user.created_at} /> },
          ]}
        />
      </div>
    </Section>
  )
}

const ProfilePage = () => {
  const { data, error } = useQuery({
    queryKey: ['profile'],
    queryFn: () => unwrap(api.GET('/api/internal/user')),
  })
  return (
    <Page title={profile.title} width="form">
      <ErrorNote error={error} />
      {data ? <Editor user={data} /> : !error && <Skeleton className="h-72 w-full" />}
    </Page>
  )
}

export default ProfilePage
