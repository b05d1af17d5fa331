//! What `#[derive(Record)]` adds to a structure: how it is taken apart and put together on the host, with names for its arrays
//! where it is kept in a file, and the structure of the same fields on a GPU.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;

use super::definition::{Definition, Host};
use crate::ty::Elem;

/// Where a structure is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Home {
    Host,
    Device,
}

/// The implementations.
pub fn items(d: &Definition) -> TokenStream {
    let name = &d.ident;
    let host = Fields { d, home: Home::Host };
    let (parts, view) = (host.parts_type(), host.view_type());
    let (view_of_self, parts_of_self, from_parts) =
        (host.references("self"), host.parts("self"), host.fields_from_parts());
    let device = device(d);
    let fields: Vec<_> = d.fields.iter().map(|f| &f.ident).collect();
    let names: Vec<_> = fields.iter().map(|f| f.unraw().to_string()).collect();
    quote! {
        #[doc(hidden)]
        #[allow(non_camel_case_types, non_snake_case, unused, missing_docs, clippy::all, clippy::pedantic)]
        const _: () = {
            use ::array_dsl::__rt;
            impl __rt::record::Record for #name {
                type Parts = #parts;
                type View<'a> = #view;
                fn view(&self) -> Self::View<'_> {
                    #view_of_self
                }
                fn into_parts(self) -> Self::Parts {
                    #parts_of_self
                }
                fn from_parts(__parts: Self::Parts) -> Self {
                    #name { #from_parts }
                }
            }
            impl __rt::given::Reuse for #name {
                fn give(&mut self, __to: &mut __rt::given::Given) {
                    #(__rt::given::Reuse::give(&mut self.#fields, __to);)*
                }
            }
            impl __rt::stored::Stored for #name {
                fn put<S: __rt::stored::Writer>(
                    &self,
                    __at: &__rt::stored::At<'_>,
                    __to: &mut S,
                ) -> ::core::result::Result<(), S::Error> {
                    #(__rt::stored::Stored::put(&self.#fields, &__at.field(#names), __to)?;)*
                    ::core::result::Result::Ok(())
                }
                fn take<S: __rt::stored::Reader>(
                    __at: &__rt::stored::At<'_>,
                    __from: &mut S,
                ) -> ::core::result::Result<Self, S::Error> {
                    ::core::result::Result::Ok(#name {
                        #(#fields: __rt::stored::Stored::take(&__at.field(#names), __from)?),*
                    })
                }
            }
            __rt::if_gpu! { #device }
        };
    }
}

/// The structure on a device.
fn device(d: &Definition) -> TokenStream {
    let name = &d.ident;
    let on_gpu = format_ident!("Gpu{}", name.unraw());
    let fields = Fields { d, home: Home::Device };
    let (parts, view) = (fields.parts_type(), fields.view_type());
    let (view_of_device, from_parts) = (fields.references("__device"), fields.fields_from_parts());
    let declared = d.fields.iter().map(|f| {
        let (vis, ident, ty) = (&f.vis, &f.ident, fields.field_type(&f.host));
        quote!(#vis #ident: #ty)
    });
    let uploads = d.fields.iter().map(|f| {
        let ident = &f.ident;
        let value = transferred(&f.host, quote!(self.#ident), true);
        quote!(#ident: #value)
    });
    let downloads = d.fields.iter().map(|f| {
        let ident = &f.ident;
        let value = transferred(&f.host, quote!(__device.#ident), false);
        quote!(#ident: #value)
    });
    quote! {
        #[derive(Clone, Debug)]
        pub struct #on_gpu { #(#declared),* }
        impl #on_gpu {
            /// Copies every array to the host.
            pub fn download(&self) -> ::core::result::Result<#name, __rt::Error> {
                <#name as __rt::gpu::DeviceRecord>::from_device(self)
            }
            /// Copies every array to the host, without holding up a thread.
            pub async fn download_async(&self) -> ::core::result::Result<#name, __rt::Error> {
                <#name as __rt::gpu::DeviceRecord>::from_device_async(self).await
            }
        }
        impl __rt::gpu::DeviceRecord for #name {
            type Device = #on_gpu;
            type DeviceParts = #parts;
            type DeviceView<'a> = #view;
            fn to_device(&self, __gpu: &__rt::gpu::Gpu) -> ::core::result::Result<Self::Device, __rt::Error> {
                ::core::result::Result::Ok(#on_gpu { #(#uploads),* })
            }
            async fn from_device_async(__device: &Self::Device) -> ::core::result::Result<Self, __rt::Error> {
                ::core::result::Result::Ok(#name { #(#downloads),* })
            }
            fn device_view(__device: &Self::Device) -> Self::DeviceView<'_> {
                #view_of_device
            }
            fn device_from_parts(__parts: Self::DeviceParts) -> Self::Device {
                #on_gpu { #from_parts }
            }
        }
        impl __rt::gpu::Upload for #name {
            type OnGpu = #on_gpu;
            fn upload_to(&self, __gpu: &__rt::gpu::Gpu) -> ::core::result::Result<#on_gpu, __rt::Error> {
                __rt::gpu::DeviceRecord::to_device(self, __gpu)
            }
        }
    }
}

/// A field on its way to the device or back.
fn transferred(host: &Host, at: TokenStream, up: bool) -> TokenStream {
    match (host, up) {
        (Host::Scalar(_), true) => quote!(__rt::gpu::GpuScalar::from(#at)),
        (Host::Scalar(_), false) => quote!(#at.item_async().await?),
        (Host::Array(..), true) => quote!(__gpu.upload(&#at)?),
        (Host::Array(..), false) => quote!(#at.download_async().await?),
        (Host::Record(path), true) => quote!(<#path as __rt::gpu::DeviceRecord>::to_device(&#at, __gpu)?),
        (Host::Record(path), false) => {
            quote!(<#path as __rt::gpu::DeviceRecord>::from_device_async(&#at).await?)
        }
        (Host::Tuple(parts), _) => {
            let parts = parts.iter().enumerate().map(|(i, p)| {
                let i = syn::Index::from(i);
                transferred(p, quote!(#at.#i), up)
            });
            quote!((#(#parts,)*))
        }
    }
}

/// The fields of a structure where it is.
struct Fields<'a> {
    d: &'a Definition,
    home: Home,
}

impl Fields<'_> {
    /// The type of a field.
    fn field_type(&self, host: &Host) -> TokenStream {
        self.of_type(host, &|path| quote!(<#path as __rt::gpu::DeviceRecord>::Device))
    }

    fn of_type(&self, host: &Host, record: &dyn Fn(&syn::Path) -> TokenStream) -> TokenStream {
        match (host, self.home) {
            (Host::Scalar(elem), Home::Host) => elem_type(*elem),
            (Host::Scalar(elem), Home::Device) => {
                let elem = elem_type(*elem);
                quote!(__rt::gpu::GpuScalar<#elem>)
            }
            (Host::Array(elem, sizes), home) => {
                let (elem, dim) = (elem_type(*elem), format_ident!("Ix{}", sizes.len()));
                match home {
                    Home::Host => quote!(__rt::ndarray::Array<#elem, __rt::ndarray::#dim>),
                    Home::Device => quote!(__rt::gpu::GpuArray<#elem, __rt::ndarray::#dim>),
                }
            }
            (Host::Tuple(parts), _) => {
                let parts = parts.iter().map(|p| self.of_type(p, record));
                quote!((#(#parts,)*))
            }
            (Host::Record(path), _) => record(path),
        }
    }

    /// The type of all fields, those of records as tuples.
    fn parts_type(&self) -> TokenStream {
        let record = |path: &syn::Path| match self.home {
            Home::Host => quote!(<#path as __rt::record::Record>::Parts),
            Home::Device => quote!(<#path as __rt::gpu::DeviceRecord>::DeviceParts),
        };
        let fields = self.d.fields.iter().map(|f| self.of_type(&f.host, &record));
        quote!((#(#fields,)*))
    }

    /// The type of references to all fields.
    fn view_type(&self) -> TokenStream {
        let fields = self.d.fields.iter().map(|f| self.view_type_of(&f.host));
        quote!((#(#fields,)*))
    }

    fn view_type_of(&self, host: &Host) -> TokenStream {
        match (host, self.home) {
            (Host::Scalar(elem), Home::Host) => elem_type(*elem),
            (Host::Array(elem, sizes), Home::Host) => {
                let (elem, dim) = (elem_type(*elem), format_ident!("Ix{}", sizes.len()));
                quote!(&'a __rt::ndarray::ArrayRef<#elem, __rt::ndarray::#dim>)
            }
            (Host::Record(path), Home::Host) => quote!(<#path as __rt::record::Record>::View<'a>),
            (Host::Record(path), Home::Device) => quote!(<#path as __rt::gpu::DeviceRecord>::DeviceView<'a>),
            (Host::Tuple(parts), _) => {
                let parts = parts.iter().map(|p| self.view_type_of(p));
                quote!((#(#parts,)*))
            }
            (_, Home::Device) => {
                let ty = self.field_type(host);
                quote!(&'a #ty)
            }
        }
    }

    /// References to all fields of the structure at `of`.
    fn references(&self, of: &str) -> TokenStream {
        let of = format_ident!("{of}");
        let fields = self.d.fields.iter().map(|f| {
            let ident = &f.ident;
            self.reference(&f.host, quote!(#of.#ident))
        });
        quote!((#(#fields,)*))
    }

    fn reference(&self, host: &Host, at: TokenStream) -> TokenStream {
        match (host, self.home) {
            (Host::Scalar(_), Home::Host) => at,
            (Host::Array(..), Home::Host) => quote!(&*#at),
            (Host::Record(_), Home::Host) => quote!(__rt::record::Record::view(&#at)),
            (Host::Record(path), Home::Device) => {
                quote!(<#path as __rt::gpu::DeviceRecord>::device_view(&#at))
            }
            (Host::Tuple(parts), _) => numbered(parts, &at, |p, at| self.reference(p, at)),
            (_, Home::Device) => quote!(&#at),
        }
    }

    /// All fields of the structure at `of`.
    fn parts(&self, of: &str) -> TokenStream {
        let of = format_ident!("{of}");
        let fields = self.d.fields.iter().map(|f| {
            let ident = &f.ident;
            parts_at(&f.host, quote!(#of.#ident))
        });
        quote!((#(#fields,)*))
    }

    /// The fields from `__parts`.
    fn fields_from_parts(&self) -> TokenStream {
        let fields = self.d.fields.iter().enumerate().map(|(i, f)| {
            let (ident, i) = (&f.ident, syn::Index::from(i));
            let value = self.field_from_parts(&f.host, quote!(__parts.#i));
            quote!(#ident: #value)
        });
        quote!(#(#fields),*)
    }

    fn field_from_parts(&self, host: &Host, at: TokenStream) -> TokenStream {
        match (host, self.home) {
            (Host::Record(path), Home::Host) => quote!(<#path as __rt::record::Record>::from_parts(#at)),
            (Host::Record(path), Home::Device) => {
                quote!(<#path as __rt::gpu::DeviceRecord>::device_from_parts(#at))
            }
            (Host::Tuple(parts), _) => numbered(parts, &at, |p, at| self.field_from_parts(p, at)),
            (Host::Scalar(_) | Host::Array(..), _) => at,
        }
    }
}

fn parts_at(host: &Host, at: TokenStream) -> TokenStream {
    match host {
        Host::Record(_) => quote!(__rt::record::Record::into_parts(#at)),
        Host::Tuple(parts) => numbered(parts, &at, parts_at),
        Host::Scalar(_) | Host::Array(..) => at,
    }
}

/// A tuple of the parts at `at.0`, `at.1`, ..
fn numbered(parts: &[Host], at: &TokenStream, f: impl Fn(&Host, TokenStream) -> TokenStream) -> TokenStream {
    let parts = parts.iter().enumerate().map(|(i, p)| {
        let i = syn::Index::from(i);
        f(p, quote!(#at.#i))
    });
    quote!((#(#parts,)*))
}

fn elem_type(elem: Elem) -> TokenStream {
    super::ident(elem.name()).to_token_stream()
}
