import { api, unwrap } from '../../../api/client.ts'
import { enterAt } from '../../../api/enter.ts'
import { signIn } from '../../../strings/sign-in.ts'
import { SaveForm } from '../../../ui/save-form.tsx'
import { Page } from '../../../ui/templates.tsx'
import { fieldsOf, TextField } from '../../../ui/text-field.tsx'
import { useDraft } from '../../../ui/use-draft.ts'
import { useSave } from '../../../ui/use-save.ts'

const NewOrgPage = () => {
  const draft = useDraft('new-org', { name: '', slug: '' })
  const { name, slug } = draft.value
  const form = useSave(() => unwrap(api.POST('/api/internal/org', { body: { name, ...(slug !== '' && { slug }) } })), {
    done: () => {
      draft.forget()
      enterAt('/')
    },
  })
  const field = fieldsOf(draft.value, draft.change, form.fault)
  return (
    <Page title={signIn.newOrgTitle} description={signIn.newOrgHelp} width="form">
      <SaveForm onSubmit={form.save} form={form} action={signIn.createOrg}>
        <TextField label={signIn.orgName} help={signIn.orgHelp} name="name" {...field('name')} />
        <TextField label={signIn.orgSlug} help={signIn.orgSlugHelp} name="slug" {...field('slug')} />
      </SaveForm>
    </Page>
  )
}

export default NewOrgPage
