import { api, unwrap } from '../../../api/client.ts'
import { signIn } from '../../../strings/sign-in.ts'
import { Button } from '../../../ui/button.tsx'
import { Field } from '../../../ui/field.tsx'
import { Input } from '../../../ui/input.tsx'
import { Form, Page } from '../../../ui/templates.tsx'
import { useDraft } from '../../../ui/use-draft.ts'
import { enterAt } from '../enter.ts'
import { useSubmit } from '../use-submit.ts'

const NewOrgPage = () => {
  const draft = useDraft('new-org', { name: '' })
  const form = useSubmit()
  const send = () =>
    form.submit(async () => {
      await unwrap(api.POST('/api/internal/org', { body: draft.value }))
      draft.forget()
      enterAt('/')
    })
  return (
    <Page title={signIn.newOrgTitle} description={signIn.newOrgHelp} width="form">
      <Form
        onSubmit={send}
        error={form.rest}
        actions={
          <Button type="submit" look="primary" busy={form.busy}>
            {signIn.createOrg}
          </Button>
        }
      >
        <Field label={signIn.orgName} help={signIn.orgHelp} error={form.fault('name')}>
          <Input
            name="name"
            value={draft.value.name}
            onChange={(event) => draft.change({ name: event.target.value })}
          />
        </Field>
      </Form>
    </Page>
  )
}

export default NewOrgPage
