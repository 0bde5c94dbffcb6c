import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import type { operations } from '../../../api/schema.gen.ts'
import { useSession } from '../../../api/session.ts'
import { profile } from '../../../strings/account.ts'
import { StatusDot } from '../../../ui/badge.tsx'
import { Copyable } from '../../../ui/copy-button.tsx'
import { DetailList } from '../../../ui/detail-list.tsx'
import { ErrorNote } from '../../../ui/error-note.tsx'
import { RelativeTime } from '../../../ui/relative-time.tsx'
import { SaveForm } from '../../../ui/save-form.tsx'
import { Skeleton } from '../../../ui/skeleton.tsx'
import { Page, Section } from '../../../ui/templates.tsx'
import { SelectField, TextField } from '../../../ui/text-field.tsx'
import { useSave } from '../../../ui/use-save.ts'

type Profile = operations['getApiInternalUser']['responses'][200]['content']['application/json']

const Verified = ({ text, verified }: { text: string; verified: boolean }) => (
  <span className="flex flex-wrap items-center gap-x-3">
    <Copyable text={text} />
    <StatusDot tone={verified ? 'ok' : 'warn'}>{verified ? profile.verified : profile.notVerified}</StatusDot>
  </span>
)

const Editor = ({ user }: { user: Profile }) => {
  const orgs = useSession().orgs ?? []
  const [name, setName] = useState(user.name)
  const [orgId, setOrgId] = useState(user.default_org_id ?? orgs[0]?.id ?? '')
  const form = useSave(
    () => {
      const body = { name, ...(orgId && { default_org_id: orgId }) }
      return unwrap(api.PATCH('/api/internal/user', { body }))
    },
    { message: profile.saved, refreshes: [['session'], ['profile'], ['team']] },
  )
  return (
    <Section title={profile.title}>
      <SaveForm label={profile.title} onSubmit={form.save} form={form}>
        <TextField label={profile.name} error={form.fault('name')} value={name} autoComplete="name" onText={setName} />
        {orgs.length > 1 && (
          <SelectField
            label={profile.defaultOrg}
            help={profile.defaultOrgHelp}
            error={form.fault('default_org_id')}
            className="w-full"
            options={orgs.map((org) => ({ value: org.id, label: org.name }))}
            value={orgId}
            onValue={setOrgId}
          />
        )}
      </SaveForm>
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
