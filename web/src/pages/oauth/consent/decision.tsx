import { TriangleAlert } from 'lucide-react'
import { useState } from 'react'
import { api, unwrap } from '../../../api/client.ts'
import { enterAt } from '../../../api/enter.ts'
import type { operations } from '../../../api/schema.gen.ts'
import { SignInError } from '../../../parts/sign-in/sign-in-error.tsx'
import { oauth } from '../../../strings/oauth.ts'
import { Button } from '../../../ui/button.tsx'
import { SelectField } from '../../../ui/text-field.tsx'
import { useSave } from '../../../ui/use-save.ts'
import { type ConsentRequest, mayGrant, sendsMessages } from './grantable.ts'
import { ScopeList } from './scope-list.tsx'

type Body = operations['postApiInternalOauthConsent']['requestBody']['content']['application/json']
type ScopeName = Extract<Body, { decision: 'allow' }>['scopes'][number]

const LiveWarning = ({ scopes }: { scopes: readonly string[] }) => (
  <p className="flex gap-2 rounded-md bg-warn-soft px-3 py-2 text-sm">
    <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-warn" />
    {sendsMessages(scopes) ? oauth.sendsLive : oauth.liveData}
  </p>
)

type Props = { request: ConsentRequest; firstOrg: string | undefined }

export const Decision = ({ request, firstOrg }: Props) => {
  const { orgs, scopes, request_id } = request
  const [orgId, setOrgId] = useState((orgs.find(({ id }) => id === firstOrg) ?? orgs[0])?.id ?? '')
  const [left, setLeft] = useState<readonly string[]>([])
  const form = useSave((body: Body) => unwrap(api.POST('/api/internal/oauth/consent', { body })), {
    done: ({ redirect_to }) => enterAt(redirect_to),
  })
  const role = orgs.find(({ id }) => id === orgId)?.role
  const chosen = scopes.filter((scope) => mayGrant(role, scope) && !left.includes(scope.name)).map(({ name }) => name)
  const allow = () => form.save({ decision: 'allow', request_id, org_id: orgId, scopes: chosen as ScopeName[] })
  return (
    <>
      {orgs.length === 0 ? (
        <p className="text-sm">{oauth.noOrgs}</p>
      ) : (
        <SelectField
          label={oauth.organisation}
          help={oauth.orgHelp}
          value={orgId}
          onValue={setOrgId}
          options={orgs.map(({ id, name, role: own }) => ({ value: id, label: oauth.orgOption(name, own) }))}
        />
      )}
      <ScopeList
        scopes={scopes}
        mayGrant={(scope) => mayGrant(role, scope)}
        chosen={chosen}
        onChosen={(name, on) => setLeft(on ? left.filter((other) => other !== name) : [...left, name])}
      />
      <LiveWarning scopes={chosen} />
      <SignInError error={form.rest} redirectTo={location.pathname + location.search} />
      <div className="flex gap-2">
        <Button
          look="primary"
          busy={form.busy}
          onClick={allow}
          reason={chosen.length === 0 ? oauth.chooseOne : undefined}
        >
          {oauth.allow}
        </Button>
        <Button onClick={() => form.save({ decision: 'deny', request_id })}>{oauth.deny}</Button>
      </div>
    </>
  )
}
